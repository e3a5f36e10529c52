//! What `load` puts on the wire for CLIENT_CLOSE, GETWEB and negotiated TIME-WAIT is recognised in a capture of it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    net::SocketAddr,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_capture::{
    analysis::{Analyser, Analysis, TimeWaitRule},
    decode::decode,
    read::{Frame, LinkType},
};
use ackwise_cause::Party;
use ackwise_http::{Behaviour, page::Transfer};
use ackwise_linux::{
    TunDevice,
    device::TunOptions,
    packet_socket::{PacketSocket, PacketType},
};
use ackwise_load::{
    CloseMode, LoadOptions, StackMode, load,
    pages::{PageFile, PageLoad, WebPage, load_pages},
};
use ackwise_net::{KernelTransport, Sources};
use ackwise_serve::{Config, Documents, Server, Site, StackServer};
use ackwise_tcp::{TimeWaitHolder, policy::ClosePolicy};
use ackwise_testing::{in_namespace, skip};

const CONNECTIONS: u64 = 5;

/// Captures `interface` while `run` runs, and until nothing has passed for half a second.
fn captured(interface: &str, run: impl FnOnce()) -> Analysis {
    let mut socket = PacketSocket::open(Some(interface), None).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let capture = scope.spawn(|| {
            let (mut analyser, mut number) = (Analyser::default(), 0);
            let mut last = Instant::now();
            while !done.load(Ordering::Relaxed) || last.elapsed() < Duration::from_millis(500) {
                let Some(passed) = socket.receive().unwrap() else { continue };
                last = Instant::now();
                // On loopback, each packet passes twice; on a TUN device, none does.
                if interface == "lo" && passed.direction == PacketType::Sent {
                    continue;
                }
                number += 1;
                let frame = Frame {
                    number,
                    at: passed.at,
                    interface: passed.interface,
                    link_type: LinkType::RAW,
                    original_len: passed.original_len,
                    bytes: socket.bytes(),
                    direction: None,
                    lost_before: 0,
                };
                if let Ok(seen) = decode(&frame) {
                    analyser.handle(&seen);
                }
            }
            analyser.finish()
        });
        run();
        done.store(true, Ordering::Relaxed);
        capture.join().unwrap()
    })
}

fn with_capture(name: &str, test: impl FnOnce() + Send) {
    in_namespace(name, || match PacketSocket::open(Some("lo"), None) {
        Ok(_) => test(),
        Err(missing) => skip(name, missing),
    });
}

/// The connections on which something was requested: `load` opens one to find the server's end.
fn used(analysis: &Analysis) -> Vec<&ackwise_capture::analysis::ConnectionResult> {
    analysis.connections.iter().filter(|it| it.exchanges > 0).collect()
}

#[test]
fn client_close_says_who_waits_and_is_no_exchange() {
    with_capture("client_close_says_who_waits_and_is_no_exchange", || {
        for close in [CloseMode::ClientClose, CloseMode::Server] {
            let config = Config { client_close: true, ..Config::loopback(Behaviour::FIXED) };
            let server = Server::start(config).unwrap();
            let options = LoadOptions {
                connections: Some(CONNECTIONS),
                close,
                stack: Some(StackMode::Kernel),
                ..LoadOptions::new(format!("http://{}/300", server.local_addr()).parse().unwrap())
            };
            let analysis = captured("lo", || {
                load(&options, &mut |_| ControlFlow::Continue(())).unwrap();
            });
            server.stop();
            let used = used(&analysis);
            assert_eq!(used.len(), 5, "{close:?}");
            for connection in used {
                assert_eq!(connection.exchanges, 1, "{close:?}");
                let said = close == CloseMode::ClientClose;
                let expected = match said {
                    true => (Party::Client, TimeWaitRule::ClientClose),
                    false => (Party::Server, TimeWaitRule::ClosedFirst),
                };
                assert_eq!(connection.time_wait.zip(connection.time_wait_rule), Some(expected));
                assert_eq!(connection.closing.client_close, said);
            }
            assert!(analysis.exchanges.iter().all(|it| it.complete), "{close:?}");
        }
    });
}

#[test]
fn getweb_requests_are_counted() {
    with_capture("getweb_requests_are_counted", || {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("index.html"), "<img src=a.gif>").unwrap();
        fs::write(directory.path().join("a.gif"), [b'x'; 5_000]).unwrap();
        let documents = Documents::Stored(Arc::new(Site::open(directory.path()).unwrap()));
        let config = Config { documents, getweb: true, ..Config::loopback(Behaviour::FIXED) };
        let server = Server::start(config).unwrap();
        let files = ["/", "/a.gif"].map(|path| PageFile::whole(path.to_owned())).to_vec();
        let page = WebPage { host: "localhost".to_owned(), fields: Vec::new(), files };
        let load = PageLoad { pages: Some(3), ..PageLoad::new(vec![page], Transfer::GetWeb) };
        let analysis = captured("lo", || {
            let (address, slots) = (server.local_addr(), load.slots());
            let mut transport = KernelTransport::new(address, Sources::Any, slots).unwrap();
            load_pages(&mut transport, &load, |_| ControlFlow::Continue(())).unwrap();
        });
        server.stop();
        let requests: u32 = analysis.connections.iter().map(|it| it.closing.getwebs).sum();
        assert_eq!(requests, 3);
        let request = analysis.exchanges[0].request.as_deref();
        assert_eq!((request, analysis.exchanges[0].status), (Some("GETWEB /"), Some(200)));
    });
}

#[test]
fn a_negotiated_holder_is_known_and_an_offer_alone_is_none() {
    let name = "a_negotiated_holder_is_known_and_an_offer_alone_is_none";
    with_capture(name, || {
        if let Err(missing) = TunDevice::open(TunOptions::default()) {
            return skip(name, missing);
        }
        let asks = ClosePolicy::Negotiated(TimeWaitHolder::Yours);
        for (server, expected) in [
            (asks, (Party::Client, TimeWaitRule::Negotiated)),
            (ClosePolicy::Ordinary, (Party::Server, TimeWaitRule::ClosedFirst)),
        ] {
            let analysis = negotiated(server);
            let used = used(&analysis);
            assert_eq!(used.len(), 5, "{server:?}");
            for connection in used {
                assert_eq!(connection.time_wait.zip(connection.time_wait_rule), Some(expected));
                let answer = (server == asks).then_some(TimeWaitHolder::Yours);
                assert_eq!(connection.closing.offers, [Some(TimeWaitHolder::Mine), answer]);
            }
        }
    });
}

fn negotiated(policy: ClosePolicy) -> Analysis {
    let device = TunDevice::open(TunOptions::default()).unwrap();
    let interface = device.name().to_owned();
    let bind = SocketAddr::from(([0, 0, 0, 0], 8080));
    let config = Config { bind, ..Config::loopback(Behaviour::FIXED) };
    let mut server = StackServer::start(device, config, policy).unwrap();
    let target = format!("http://{}/300", server.address()).parse().unwrap();
    let options = LoadOptions {
        connections: Some(CONNECTIONS),
        close: CloseMode::Negotiated,
        stack: Some(StackMode::Ackwise),
        allow_host_changes: true,
        ..LoadOptions::new(target)
    };
    captured(&interface, || {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    server.poll(Instant::now() + Duration::from_millis(50)).unwrap();
                }
            });
            let report = load(&options, &mut |_| ControlFlow::Continue(()));
            done.store(true, Ordering::Relaxed);
            report.unwrap();
        });
    })
}
