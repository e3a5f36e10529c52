//! A proxy's seconds, with all rules together: what is assigned, idle and free never exceeds the
//! pool, whatever connects, idles, loses and returns. This is also how the parts are meant to be
//! used.

use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use ackwise_tcp::{ByteCount, Instant, Nanos};
use ackwise_tuning::{
    Admission, Buffers, Demand, Division, Downward, E2Atbt, Eatbt, Gain, Idle, IdleBuffers, Limit,
    LossEstimate, Register, Scheme, Sender, Sent, Source, Spare, Use,
};
use proptest::{collection::vec, prelude::*};

/// Twelve buffers of 16 KB, and twenty places.
const POOL: ByteCount = ByteCount(12 * 16_384);
const PLACES: u64 = 20;

#[derive(Clone, Copy, Debug)]
enum Act {
    /// A client connects.
    Connect,
    /// One of the active connections has sent this, and lost this much of it.
    Send(usize, Sent),
    /// One of the active connections becomes idle.
    Rest(usize),
    /// One of the idle connections becomes active.
    Return(usize),
    /// A second passes: samples, and a division.
    Second,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    loss: LossEstimate,
    buffer: ByteCount,
}

struct Proxy {
    scheme: Scheme,
    limit: Limit,
    active: BTreeMap<u32, Connection>,
    /// Their estimates, for when they return.
    resting: BTreeMap<u32, Connection>,
    register: Register<u32>,
    division: Division,
    connected: u32,
    now: Instant,
}

impl Proxy {
    fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            limit: scheme.limit(POOL, NonZeroU64::new(PLACES).unwrap()).unwrap(),
            active: BTreeMap::new(),
            resting: BTreeMap::new(),
            register: Register::new(),
            division: Division::new(POOL, std::iter::empty(), Spare::Keep),
            connected: 0,
            now: Instant::EPOCH,
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Connect => self.connect(),
            Act::Send(which, sent) => {
                if let Some(key) = nth(&self.active, which) {
                    self.active.get_mut(&key).unwrap().loss.observe(sent);
                }
            }
            Act::Rest(which) => {
                if let Some(key) = nth(&self.active, which) {
                    let connection = self.active.remove(&key).unwrap();
                    self.resting.insert(key, connection);
                    self.register.insert(Idle { key, since: self.now, held: connection.buffer });
                }
            }
            Act::Return(which) => {
                if let Some(key) = nth(&self.resting, which) {
                    let Idle { since, held, .. } = self.register.remove(&key).unwrap();
                    let mut connection = self.resting.remove(&key).unwrap();
                    connection.buffer = self.scheme.idle.size(held, since, self.now);
                    self.active.insert(key, connection);
                }
            }
            Act::Second => {
                self.now = self.now + Scheme::INTERVAL;
                self.divide();
            }
        }
    }

    fn connect(&mut self) {
        let open = (self.active.len() + self.resting.len()) as u64;
        match self.limit.admit(&mut self.register, open, None, self.now) {
            Admission::Refuse(_) => return,
            Admission::Admit => {}
            Admission::AdmitInsteadOf(closing) => {
                self.resting.remove(&closing.key).expect("an idle connection closes");
            }
        }
        self.connected += 1;
        let initial = match self.scheme.buffers {
            Buffers::Fixed(bytes) => bytes,
            Buffers::E2Atbt(rule) => rule.eatbt.initial,
        };
        let share = self.division.admit(initial);
        let buffer = share.map_or(ByteCount(0), |share| share.bytes);
        let loss = LossEstimate::new(Gain::EIGHTH);
        self.active.insert(self.connected, Connection { loss, buffer });
        if share.is_none() {
            self.divide();
        }
    }

    fn divide(&mut self) {
        let idle = match self.scheme.idle {
            IdleBuffers::Halve(_) => self.register.memory(self.scheme.idle, self.now),
            IdleBuffers::KeepShare => ByteCount(0),
        };
        let mut all: Vec<&mut Connection> = self.active.values_mut().collect();
        if self.scheme.idle == IdleBuffers::KeepShare {
            all.extend(self.resting.values_mut());
        }
        let demands: Vec<Demand> =
            all.iter().map(|it| self.scheme.buffers.downward(&facts(it))).collect();
        let pool = ByteCount(POOL.0 - idle.0);
        let sizes = demands.iter().map(|demand| demand.bytes);
        self.division = Division::new(pool, sizes, Spare::Keep);
        for (connection, demand) in all.into_iter().zip(demands) {
            connection.buffer = self.division.share(demand.bytes).bytes;
        }
        if self.scheme.idle == IdleBuffers::KeepShare {
            for idle in self.register.iter().copied().collect::<Vec<_>>() {
                self.register.insert(Idle { held: self.resting[&idle.key].buffer, ..idle });
            }
        }
    }

    fn assigned(&self) -> u64 {
        let active: u64 = self.active.values().map(|connection| connection.buffer.0).sum();
        active + self.register.memory(self.scheme.idle, self.now).0
    }
}

fn facts(connection: &Connection) -> Downward {
    let sender = Sender {
        loss: connection.loss.loss(),
        round_trip: Nanos::from_millis(100),
        timeout: Nanos::from_millis(300),
        mss: NonZeroU32::new(1_460).unwrap(),
        peer_window: ByteCount(65_535),
        segments_per_ack: NonZeroU8::new(2).unwrap(),
    };
    let buffer = Use { assigned: connection.buffer, peak: connection.buffer };
    Downward { sender, source: Source::Cache, buffer }
}

fn nth(connections: &BTreeMap<u32, Connection>, which: usize) -> Option<u32> {
    connections.keys().nth(which % connections.len().max(1)).copied()
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let sent = (1_u64..2_000, 0_u64..4).prop_map(|(segments, lost)| Sent { segments, lost });
    let act = prop_oneof![
        3 => Just(Act::Connect),
        3 => (any::<usize>(), sent).prop_map(|(which, sent)| Act::Send(which, sent)),
        2 => any::<usize>().prop_map(Act::Rest),
        1 => any::<usize>().prop_map(Act::Return),
        2 => Just(Act::Second),
    ];
    vec(act, 0..150)
}

fn scheme() -> impl Strategy<Value = Scheme> {
    use Scheme as S;
    prop_oneof![Just(S::OKAMOTO_1), Just(S::OKAMOTO_2), Just(S::OKAMOTO_3), Just(S::OKAMOTO_4)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_proxy_never_assigns_more_than_its_pool(scheme in scheme(), acts in acts()) {
        let mut proxy = Proxy::new(scheme);
        for act in acts {
            proxy.act(act);
            prop_assert!(proxy.assigned() <= POOL.0, "{} after {:?}", proxy.assigned(), act);
            let open = (proxy.active.len() + proxy.resting.len()) as u64;
            prop_assert!(open <= proxy.limit.connections.get());
            prop_assert_eq!(proxy.register.len(), proxy.resting.len());
        }
    }
}

#[test]
fn idle_buffers_go_to_active_connections_in_scheme_4_only() {
    let after_ten_seconds = |scheme| {
        let mut proxy = Proxy::new(scheme);
        (0..16).for_each(|_| proxy.act(Act::Connect));
        (0..8).for_each(|_| proxy.act(Act::Rest(0)));
        // One loss in 10,000 segments: each could use more than the pool has for it.
        for which in 0..8 {
            proxy.act(Act::Send(which, Sent { segments: 10_000, lost: 1 }));
        }
        (0..10).for_each(|_| proxy.act(Act::Second));
        proxy.active.values().next().unwrap().buffer.0
    };
    let sharing = after_ten_seconds(Scheme::OKAMOTO_3);
    let halving = after_ten_seconds(Scheme::OKAMOTO_4);
    // Scheme 3: sixteen shares. Scheme 4: eight, and what three halvings left to the idle.
    assert_eq!(sharing, POOL.0 / 16);
    assert_eq!(halving, (POOL.0 - 8 * (POOL.0 / 16 / 8)) / 8);
}

#[test]
fn the_paper_simulates_policy_b() {
    let Buffers::E2Atbt(rule) = Scheme::OKAMOTO_4.buffers else { panic!("fixed buffers") };
    assert_eq!((rule, rule.eatbt), (E2Atbt::OKAMOTO_2001, Eatbt::OKAMOTO_2001));
}
