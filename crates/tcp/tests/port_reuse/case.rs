//! One case: who talks to whom, how they close, and what the network does to it.

use std::time::Duration;

use ackwise_tcp::{
    Config, Policies, TimeWaitHolder,
    policy::{AckPolicy, ClosePolicy, Offer, ResetInTimeWait},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

/// The longest that a segment lives in the network (RFC 9293: 2 minutes; shorter, so that more happens).
pub(crate) const MSL: Duration = Duration::from_secs(2);

/// How the two ends close.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Closing {
    /// The client takes TIME-WAIT over. Where it closes first, it ignores resets.
    Swap,
    /// Client and server have agreed that the client holds it.
    Negotiated,
    /// Who closes first, which is mostly the server, and no RST ends it.
    Rfc1337,
    /// The same, but an RST does.
    Assassinated,
    /// The client resets as in a swap, but does not wait.
    NobodyWaits,
}

/// Which end closes first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum First {
    Server,
    Client,
    Both,
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) client: Config,
    pub(crate) server: Config,
    pub(crate) network: Network,
    /// How many connections the client opens.
    pub(crate) connections: u32,
    pub(crate) dice: Dice,
}

/// What happens to segments, in percent of them; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub(crate) lost: u64,
    /// A copy arrives too, at any time up to an MSL later.
    pub(crate) repeated: u64,
    /// It arrives at such a time itself.
    pub(crate) late: u64,
    pub(crate) delay: u64,
    pub(crate) jitter: u64,
}

impl Case {
    pub(crate) fn new(number: u64, closing: Closing) -> Self {
        let mut dice = Dice::new(number);
        let network = Network {
            lost: dice.below(15),
            repeated: dice.below(60),
            late: dice.below(10),
            delay: 1 + dice.below(50),
            jitter: 1 + dice.below(20),
        };
        let offer = Offer {
            sack: dice.in_a_hundred(50),
            timestamps: dice.in_a_hundred(25),
            window_scale: dice.in_a_hundred(50),
        };
        let [client, server] = policies(closing, offer, &mut dice);
        let waits = if closing == Closing::NobodyWaits { Duration::ZERO } else { 2 * MSL };
        Self {
            client: Config { time_wait: waits, ..config(client, &mut dice) },
            server: config(server, &mut dice),
            network,
            connections: 2 + dice.number(2),
            dice,
        }
    }
}

fn policies(closing: Closing, offer: Offer, dice: &mut Dice) -> [Policies; 2] {
    let ack = if dice.in_a_hundred(50) { AckPolicy::EverySegment } else { AckPolicy::RFC };
    let ordinary = Policies { offer, ack, ..Policies::RFC };
    let ignoring = Policies { reset_in_time_wait: ResetInTimeWait::Ignored, ..ordinary };
    // Some servers ignore the RST of a swap: then both wait.
    let server = if dice.in_a_hundred(20) { ignoring } else { ordinary };
    let with = |close| Policies { close, ..ordinary };
    match closing {
        Closing::Swap => [Policies { close: ClosePolicy::Swap, ..ignoring }, server],
        Closing::NobodyWaits => [with(ClosePolicy::Swap), server],
        Closing::Negotiated => {
            let [mine, yours] =
                [TimeWaitHolder::Mine, TimeWaitHolder::Yours].map(ClosePolicy::Negotiated);
            [Policies { close: mine, ..ignoring }, with(yours)]
        }
        Closing::Rfc1337 => [ignoring, ignoring],
        Closing::Assassinated => [ordinary, ordinary],
    }
}

fn config(policies: Policies, dice: &mut Dice) -> Config {
    Config {
        mss: 100 + dice.short(500),
        time_wait: 2 * MSL,
        user_timeout: Duration::from_secs(3_600),
        ..Config::new(policies)
    }
}

/// Random numbers that follow from the number of the case.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn new(number: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(number))
    }

    pub(crate) fn below(&mut self, sides: u64) -> u64 {
        self.0.next_u64() % sides
    }

    pub(crate) fn number(&mut self, sides: u32) -> u32 {
        u32::try_from(self.below(sides.into())).unwrap()
    }

    fn short(&mut self, sides: u16) -> u16 {
        u16::try_from(self.below(sides.into())).unwrap()
    }

    pub(crate) fn in_a_hundred(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn first_to_close(&mut self) -> First {
        match self.below(10) {
            0 => First::Client,
            1 => First::Both,
            _ => First::Server,
        }
    }

    pub(crate) fn millis(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.below(most * 1_000))
    }
}
