//! What a client of a proxy asks for next, in any world.

use std::time::Duration;

use ackwise_link::{Seed, Stream};

use crate::scenario::{Application, Proxy};

/// The requests of one client. Each purpose has a stream of its own, so that a change of one leaves the
/// others alone, and nothing depends on the proxy.
#[derive(Clone, Debug)]
pub struct Requests {
    start: Stream,
    think: Stream,
    size: Stream,
    server: Stream,
    hit: Stream,
}

/// A document that is wanted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Wanted {
    /// Its size in bytes.
    pub size: u64,
    /// The server's place in [`Proxy::servers`].
    pub server: u32,
    /// Whether the proxy has it.
    pub hit: bool,
}

impl Requests {
    /// Those of a client by its place in [`Proxy::clients`], in a run with this seed.
    #[must_use]
    pub fn new(seed: Seed, application: &str, client: u32) -> Self {
        let seed = seed.named("application").named(application).named(&(client + 1).to_string());
        let stream = |purpose| seed.named(purpose).stream();
        Self {
            start: stream("start"),
            think: stream("think"),
            size: stream("size"),
            server: stream("server"),
            hit: stream("hit"),
        }
    }

    /// When the first request comes, from the beginning of the run on.
    pub fn begins(&mut self, application: &Application, proxy: &Proxy) -> Duration {
        application.start.draw(&mut self.start) + self.thinks(proxy)
    }

    /// How long the client thinks before its next request.
    pub fn thinks(&mut self, proxy: &Proxy) -> Duration {
        proxy.think.draw(&mut self.think)
    }

    /// The next request.
    pub fn next(&mut self, proxy: &Proxy) -> Wanted {
        let server = self.server.below(proxy.servers.len() as u64);
        Wanted {
            size: proxy.size.draw(&mut self.size).0.max(1),
            server: u32::try_from(server).expect("a place in a list of nodes"),
            hit: self.hit.below(1_000_000) < u64::from(proxy.hits_per_million),
        }
    }
}
