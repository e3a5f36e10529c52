//! A server on a TUN device, and clients that want to be served.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ackwise_http::Behaviour;
use ackwise_linux::{
    TunDevice, TunStack,
    device::TunOptions,
    stack::{Counters, StackOptions},
};
use ackwise_serve::{Config, Limits, StackServer, Stats};
use ackwise_tcp::policy::ClosePolicy;
use ackwise_testing::{in_namespace, skip};

const CLIENT_INTERVAL: Duration = Duration::from_millis(100);
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// Set to anything for the sizes of a benchmark.
pub(crate) fn whole() -> bool {
    std::env::var_os("ACKWISE_WHOLE_FLOOD").is_some()
}

/// What the server and its stack counted.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) counters: Counters,
    pub(crate) stats: Stats,
    /// The most connections that the stack had at once.
    pub(crate) most: usize,
}

/// Serves with `limits` on a stack of `places` connections while `meanwhile` runs, then hands on what it returned; or
/// skips the test `name`.
pub(crate) fn serve<T: Send>(
    name: &str,
    limits: Limits,
    places: usize,
    meanwhile: impl FnOnce(SocketAddr) -> T + Send,
    then: impl FnOnce(T, Seen) + Send,
) {
    in_namespace(name, || {
        let device = match TunDevice::open(TunOptions::default()) {
            Ok(device) => device,
            Err(missing) => return skip(name, missing),
        };
        let options = StackOptions { connections: places, ..StackOptions::default() };
        let stack = TunStack::new(device, options).unwrap();
        let bind = ([0, 0, 0, 0], 8080).into();
        let config = Config { bind, limits, ..Config::loopback(Behaviour::FIXED) };
        let mut server = StackServer::on(stack, config, ClosePolicy::Ordinary).unwrap();
        let address = server.address();
        let done = AtomicBool::new(false);
        let (returned, seen) = thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let mut most = 0;
                while !done.load(Ordering::Relaxed) {
                    server.poll(Instant::now() + Duration::from_millis(20)).unwrap();
                    most = most.max(server.stack().connections());
                }
                Seen { counters: server.stack().counters(), stats: server.stats(), most }
            });
            let returned = scope.spawn(|| meanwhile(address)).join();
            done.store(true, Ordering::Relaxed);
            (returned, serving.join().unwrap())
        });
        then(returned.unwrap(), seen);
    });
}

/// Of `count` clients, one each 100 ms, how many got their whole response.
pub(crate) fn served(server: SocketAddr, count: usize) -> usize {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..count)
            .map(|_| {
                thread::sleep(CLIENT_INTERVAL);
                scope.spawn(move || fetch(server).is_ok_and(|bytes| bytes > 300))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).filter(|served| *served).count()
    })
}

pub(crate) fn fetch(server: SocketAddr) -> io::Result<usize> {
    let mut response = Vec::new();
    ask(&TcpStream::connect_timeout(&server, PATIENCE)?, "/300")?.read_to_end(&mut response)
}

/// Sends the only request of a connection.
pub(crate) fn ask<'a>(mut stream: &'a TcpStream, path: &str) -> io::Result<&'a TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}
