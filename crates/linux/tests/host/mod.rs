//! Ackwise's host on one end of a TUN device, the kernel's on the other, in a separate namespace.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use ackwise_linux::{
    device::{TunDevice, TunOptions},
    namespace::Namespace,
    stack::{ConnectionId, StackOptions, Tap, TunStack},
};
use ackwise_tcp::{Config, Event, Policies, State};
use ackwise_testing::skip;

/// Maximum wait for events that take milliseconds (our choice).
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Host {
    pub(crate) stack: TunStack,
    events: BTreeMap<ConnectionId, Vec<Event>>,
    fresh: Vec<(ConnectionId, Event)>,
}

impl Host {
    /// Runs `test` with a host in a new namespace, or skips it.
    pub(crate) fn with(name: &str, test: impl FnOnce(Self) + Send) {
        let namespace = match Namespace::create() {
            Ok(namespace) => namespace,
            Err(missing) => return skip(name, missing),
        };
        let run = || match TunDevice::open(TunOptions { v6: true, ..TunOptions::default() }) {
            Ok(device) => test(Self::on(device)),
            Err(missing) => skip(name, missing),
        };
        namespace.run(run).expect("who may make a namespace may enter it");
    }

    pub(crate) fn on(device: TunDevice) -> Self {
        let stack = TunStack::new(device, StackOptions { seed: Some(1), ..Default::default() });
        Self { stack: stack.unwrap(), events: BTreeMap::new(), fresh: Vec::new() }
    }

    /// Address of a kernel socket on the other end.
    pub(crate) fn kernel(&self, port: u16) -> SocketAddr {
        (self.stack.device().v4().host, port).into()
    }

    /// Address of a listener of the stack.
    pub(crate) fn ours(&self, port: u16) -> SocketAddr {
        (self.stack.device().v4().ours, port).into()
    }

    pub(crate) fn connect(&mut self, peer: SocketAddr) -> ConnectionId {
        self.stack.connect(peer, config(), Tap::Last(1000)).unwrap()
    }

    /// All events on the connection so far.
    pub(crate) fn events(&self, id: ConnectionId) -> &[Event] {
        self.events.get(&id).map_or(&[], Vec::as_slice)
    }

    /// All events since the last call, in order.
    pub(crate) fn take_events(&mut self) -> Vec<(ConnectionId, Event)> {
        std::mem::take(&mut self.fresh)
    }

    /// Polls until `done`, which may act, returns true.
    pub(crate) fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            while let Some((id, event)) = self.stack.poll_event() {
                self.events.entry(id).or_default().push(event);
                self.fresh.push((id, event));
            }
            if done(self) {
                return;
            }
            assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
            let soon = Instant::now() + Duration::from_millis(20);
            self.stack.poll(soon.min(deadline)).unwrap();
        }
    }

    pub(crate) fn run_until_event(&mut self, id: ConnectionId, event: Event) {
        self.run_until(&format!("{event:?}"), |host| host.events(id).contains(&event));
    }

    pub(crate) fn state(&self, id: ConnectionId) -> Option<State> {
        self.stack.endpoint(id).map(ackwise_tcp::Endpoint::state)
    }

    /// Sends all of `bytes` and appends received data to `received` until it has `expected` bytes.
    pub(crate) fn exchange(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        received: &mut Vec<u8>,
        expected: usize,
    ) {
        let mut sent = 0;
        let mut buffer = vec![0; 65_536];
        self.run_until("the exchange", |host| {
            sent += host.stack.write(id, &bytes[sent..]);
            loop {
                let len = host.stack.read(id, &mut buffer);
                received.extend_from_slice(&buffer[..len]);
                if len == 0 {
                    break;
                }
            }
            sent == bytes.len() && received.len() >= expected
        });
    }
}

pub(crate) fn config() -> Config {
    Config::new(Policies::RFC)
}

/// A stream in which gaps and reordering are detected.
pub(crate) fn stream(seed: u32, len: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|word| word.wrapping_mul(2_654_435_761).wrapping_add(seed).to_be_bytes())
        .take(len)
        .collect()
}
