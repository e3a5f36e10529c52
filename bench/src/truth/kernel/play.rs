//! Runs the programs of a plan, and collects their diaries.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ackwise_linux::Namespace;
use ackwise_linux::emulator::Scheduling;
use anyhow::{Context, anyhow};
use socket2::{Domain, SockRef, Socket, Type};

use super::asyncio::Asyncio;
use super::front::Proxy;
use super::lab::Lab;
use super::line::{Diary, Line, Served, pause};
use super::plan::{Congestion, Cross, Exchange, Host, Kind, Plan, Protocol};
use super::secrets::Secrets;
use super::wire::Wire;
use crate::witness::clock::{Clock, Nanos};

/// Both diaries of a connection.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) client_address: SocketAddrV4,
    pub(super) server_address: SocketAddrV4,
    pub(super) client: Diary,
    pub(super) server: Diary,
    /// When the server took the connection from the queue.
    pub(super) accepted: Nanos,
    /// As of [`Served`].
    pub(super) behind: Vec<Nanos>,
}

/// Runs all connections of the plan over the lab; the server listens on `port`, and on the next one
/// for the other traffic.
pub(super) fn play(
    plan: &Plan,
    lab: &Lab,
    (port, secrets): (u16, &Secrets),
    clock: Clock,
) -> anyhow::Result<Vec<Played>> {
    let address = SocketAddrV4::new(lab.server_address(), port);
    let mut server = Server::start(plan, lab, address)?;
    let asking = if plan.one_host { &lab.server } else { &lab.client };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = &over;
        let cross =
            plan.cross.map(|cross| scope.spawn(move || run_cross(cross, lab, port + 1, over)));
        if cross.is_some() {
            pause(CROSS_FIRST);
        }
        // It is there until the client has read all: a proxy has what was written to it.
        let server = &mut server;
        let server = scope.spawn(move || {
            let _scheduling = Scheduling::prefer_round_robin();
            server.serve(plan, clock)
        });
        let client = scope.spawn(|| {
            let _scheduling = Scheduling::prefer_round_robin();
            let asking = (asking, secrets);
            let run = |exchanges: &Vec<Exchange>| ask(plan, asking, address, exchanges, clock);
            if plan.concurrent {
                return concurrent(&plan.connections, run);
            }
            plan.connections.iter().map(run).collect::<anyhow::Result<Vec<_>>>()
        });
        let (client, server) = (client.join(), server.join());
        over.store(true, Ordering::Release);
        if let Some(cross) = cross {
            cross.join().map_err(|_| anyhow!("the other traffic panicked"))??;
        }
        let client = client.map_err(|_| anyhow!("the client panicked"))?.context("the client")?;
        let server = server.map_err(|_| anyhow!("the server panicked"))?.context("the server")?;
        let pair = |(number, (client_address, client)): (usize, (SocketAddrV4, Diary))| {
            let served = server.iter().enumerate().find(|(place, it)| {
                // A program behind a proxy has them in order.
                it.peer.map_or(*place == number, |peer| peer == client_address)
            });
            let (_, served) = served.context("a connection without a server")?;
            let Served { accepted, diary: server, behind, .. } = served.clone();
            Ok(Played { client_address, server_address: address, client, server, accepted, behind })
        };
        client.into_iter().enumerate().map(pair).collect()
    })
}

/// A server that listens.
enum Server {
    Ours(TcpListener),
    Asyncio(Asyncio),
    Behind { listener: TcpListener, _proxy: Proxy },
}

impl Server {
    fn start(plan: &Plan, lab: &Lab, address: SocketAddrV4) -> anyhow::Result<Self> {
        if plan.asyncio {
            let client = if plan.one_host { lab.server_address() } else { lab.client_address() };
            let port = address.port();
            return Asyncio::start(plan, &lab.server, client, port).map(Self::Asyncio);
        }
        let how = (plan.congestion, plan.backlog);
        let Some(front) = plan.front else {
            return listen(&lab.server, address, plan.server, how).map(Self::Ours);
        };
        let (port, behind) = (address.port(), address.port() + 1);
        let listener =
            listen(&lab.server, SocketAddrV4::new(Ipv4Addr::LOCALHOST, behind), plan.server, how)?;
        let _proxy = Proxy::start(front, &lab.server, port, behind)?;
        Ok(Self::Behind { listener, _proxy })
    }

    /// Serves all connections, and returns what it did.
    fn serve(&mut self, plan: &Plan, clock: Clock) -> anyhow::Result<Vec<Served>> {
        let listener = match self {
            Self::Ours(it) => it,
            Self::Asyncio(it) => return it.served(),
            Self::Behind { listener, .. } => return serve_behind(plan, listener, clock),
        };
        let run = |exchanges: &Vec<Exchange>| serve(plan, listener, exchanges, clock);
        if plan.served_at_once {
            return concurrent(&plan.connections, run);
        }
        plan.connections.iter().map(run).collect()
    }
}

/// Runs all connections at the same time.
fn concurrent<T: Send>(
    connections: &[Vec<Exchange>],
    run: impl Fn(&Vec<Exchange>) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> =
            connections.iter().map(|exchanges| scope.spawn(move || run(exchanges))).collect();
        let end = |it: thread::ScopedJoinHandle<'_, _>| {
            it.join().map_err(|_| anyhow!("a client panicked"))?
        };
        threads.into_iter().map(end).collect()
    })
}

fn ask(
    plan: &Plan,
    (namespace, secrets): (&Namespace, &Secrets),
    address: SocketAddrV4,
    exchanges: &[Exchange],
    clock: Clock,
) -> anyhow::Result<(SocketAddrV4, Diary)> {
    let socket = namespace.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    prepare(&socket, plan.client, plan.congestion)?;
    socket.connect(&address.into())?;
    let stream = TcpStream::from(socket);
    let std::net::SocketAddr::V4(ours) = stream.local_addr()? else {
        return Err(anyhow!("not IPv4"));
    };
    let line = Line::new(stream, plan.client.no_delay, clock)?;
    let mut wire = Wire::client(line, plan.protocol, secrets)?;
    pause(plan.opened_early);
    if plan.pipelined {
        for exchange in exchanges {
            wire.write(Kind::Request, &exchange.request)?;
        }
    }
    let mut later = plan.client.receive_buffer_later;
    for exchange in exchanges {
        if !plan.pipelined {
            wire.write(Kind::Request, &exchange.request)?;
        }
        wire.read(Kind::Response, exchange.response.body, exchange.reading)?;
        if let Some(bytes) = later.take() {
            wire.line().shrink_receive_buffer(bytes)?;
        }
        if plan.protocol == Protocol::Closes {
            wire.line().drain()?;
        }
        pause(exchange.client_think);
    }
    Ok((ours, wire.line().diary.clone()))
}

fn serve(
    plan: &Plan,
    listener: &TcpListener,
    exchanges: &[Exchange],
    clock: Clock,
) -> anyhow::Result<Served> {
    let (stream, peer) = accept(listener)?;
    let accepted = clock.now();
    let std::net::SocketAddr::V4(peer) = peer else { return Err(anyhow!("not IPv4")) };
    let mut wire = Wire::server(Line::new(stream, plan.server.no_delay, clock)?, plan)?;
    for exchange in exchanges {
        let (body, reading) = (exchange.request.body, exchange.request_reading);
        match exchange.continues_after {
            Some(after) => wire.read_with_leave(body, after, reading)?,
            None => wire.read(Kind::Request, body, reading)?,
        }
        pause(exchange.server_think);
        wire.write(Kind::Response, &exchange.response)?;
        if plan.protocol == Protocol::Closes {
            pause(exchange.closes_after);
            wire.line().close()?;
        }
    }
    // The client closes first, so that no FIN shares a segment with data.
    wire.line().drain()?;
    let diary = wire.line().diary.clone();
    Ok(Served { peer: Some(peer), accepted, diary, behind: Vec::new() })
}

/// Serves a proxy, which opens another connection when it likes.
fn serve_behind(plan: &Plan, listener: &TcpListener, clock: Clock) -> anyhow::Result<Vec<Served>> {
    let mut wire = None;
    let mut serve = |exchange: &Exchange| -> anyhow::Result<Nanos> {
        let mut asked = loop {
            let mut it = match wire.take() {
                Some(it) => it,
                None => {
                    let (stream, _) = accept(listener)?;
                    Wire::server(Line::new(stream, plan.server.no_delay, clock)?, plan)?
                }
            };
            match it.read(Kind::Request, exchange.request.body, exchange.request_reading) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
                result => break result.map(|()| it)?,
            }
        };
        pause(exchange.server_think);
        let answers = clock.now();
        asked.write(Kind::Response, &exchange.response)?;
        wire = Some(asked);
        Ok(answers)
    };
    let mut connection = |exchanges: &Vec<Exchange>| {
        let behind = exchanges.iter().map(&mut serve).collect::<anyhow::Result<_>>()?;
        Ok(Served { peer: None, accepted: 0, diary: Diary::default(), behind })
    };
    plan.connections.iter().map(&mut connection).collect()
}

/// A connection that transfers without end.
fn run_cross(cross: Cross, lab: &Lab, port: u16, over: &AtomicBool) -> anyhow::Result<()> {
    let address = SocketAddrV4::new(lab.server_address(), port);
    let listener = listen(&lab.server, address, Host::default(), (Congestion::Cubic, 1))?;
    thread::scope(|scope| {
        let accepting = scope.spawn(|| accept(&listener));
        let socket = lab.client.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
        socket.connect(&address.into())?;
        let client = TcpStream::from(socket);
        let (server, _) = accepting.join().map_err(|_| anyhow!("the other server panicked"))??;
        let (mut source, mut sink) =
            if cross.to_server { (client, server) } else { (server, client) };
        let sending = scope.spawn(move || -> anyhow::Result<()> {
            source.set_write_timeout(Some(WRITE_LIMIT))?;
            let burst = vec![b'y'; cross.burst];
            while !over.load(Ordering::Acquire) {
                match source.write_all(&burst) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
                    _ => pause(cross.pause),
                }
            }
            Ok(())
        });
        let mut buffer = vec![0; 65_536];
        while sink.read(&mut buffer)? > 0 {}
        sending.join().map_err(|_| anyhow!("the other traffic's source panicked"))?
    })
}

fn listen(
    namespace: &Namespace,
    address: SocketAddrV4,
    host: Host,
    (congestion, backlog): (Congestion, i32),
) -> anyhow::Result<TcpListener> {
    let socket = namespace.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    // Accepted sockets inherit it.
    prepare(&socket, host, congestion)?;
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, address.port());
    socket.bind(&any.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

fn accept(listener: &TcpListener) -> anyhow::Result<(TcpStream, std::net::SocketAddr)> {
    SockRef::from(listener).set_read_timeout(Some(ACCEPT_LIMIT))?;
    listener.accept().context("nobody connects")
}

fn prepare(socket: &Socket, host: Host, congestion: Congestion) -> anyhow::Result<()> {
    let name = congestion.name();
    socket
        .set_tcp_congestion(name.as_bytes())
        .with_context(|| format!("no congestion control {name}"))?;
    if let Some(bytes) = host.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = host.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(())
}

/// Our choices: nothing takes as long.
const ACCEPT_LIMIT: Duration = Duration::from_secs(20);
const WRITE_LIMIT: Duration = Duration::from_millis(200);
/// The other traffic comes up to speed (our choice).
const CROSS_FIRST: Duration = Duration::from_millis(400);
