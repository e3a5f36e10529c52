//! The cost of a decision with a million connections: `cargo bench -p ackwise-tuning`
//!
//! Each row is the fastest of some runs: other load on the machine only adds time. Connections are
//! visited in a scattered order, so that a visit costs its cache misses.

use std::{
    hint::black_box,
    num::{NonZeroU8, NonZeroU32, NonZeroU64},
    time::Duration,
};

use ackwise_tcp::{ByteCount, Instant, Nanos};
use ackwise_tuning::{
    Division, Downward, E2Atbt, Eatbt, Gain, Halving, Idle, IdleBuffers, Limit, Load, LossEstimate,
    Model, Reclaim, Register, Sender, Sent, Source, Spare, Threshold, Thresholds, Usage, Use,
    WhenFull,
};

/// A power of two, so that an odd factor permutes the numbers below it.
const CONNECTIONS: u64 = 1 << 20;
const RUNS: u32 = 7;

const NOW: Instant = Instant::from_nanos(4_000_000_000);

fn main() {
    println!("{CONNECTIONS} connections");
    estimates();
    divisions();
    register();
    management();
}

fn estimates() {
    let senders: Vec<Sender> = (0..CONNECTIONS).map(sender).collect();
    for model in [Model::Full, Model::Approximate] {
        let rule = Eatbt { model, ..Eatbt::OKAMOTO_2001 };
        each(&format!("E-ATBT demand, {model:?} model"), || {
            for sender in &senders {
                let _ = black_box(rule.demand(sender));
            }
        });
    }
    let rule = E2Atbt::OKAMOTO_2001;
    let buffer = Use { assigned: ByteCount(16_384), peak: ByteCount(9_000) };
    each("E2-ATBT demand, policy B, cache miss", || {
        for (client, server) in senders.iter().zip(senders.iter().rev()) {
            let source = Source::Upward(rule.supply(server));
            let client = Downward { sender: *client, source, buffer };
            let _ = black_box(rule.downward(&client));
        }
    });
}

fn divisions() {
    let rule = Eatbt::OKAMOTO_2001;
    let demands: Vec<_> =
        (0..CONNECTIONS).map(|number| rule.demand(&sender(number)).bytes).collect();
    let divide = |pool| Division::new(pool, black_box(&demands).iter().copied(), Spare::Keep);
    let short = ByteCount(8_192 * CONNECTIONS);
    let division = divide(short);
    assert!(division.level().is_some(), "the pool is short");
    each("division of a short pool", || {
        let _ = black_box(divide(short));
    });
    each("division of a large pool", || {
        let _ = black_box(divide(ByteCount(u64::MAX)));
    });
    each("share", || {
        for demand in &demands {
            let _ = black_box(division.share(*demand));
        }
    });
}

fn register() {
    let before = resident();
    let full = full_register();
    let grown =
        resident().zip(before).map(|(now, before)| now.saturating_sub(before) / CONNECTIONS);
    if let Some(grown) = grown {
        println!("register: {grown} bytes for each connection");
    }
    each("register: insert, while it grows", || {
        let _ = black_box(full_register());
    });
    timed(
        "register: busy and idle again",
        CONNECTIONS,
        || full.clone(),
        |register| {
            for number in 0..CONNECTIONS {
                let idle = idle(number * 3);
                let _ = black_box(register.remove(&idle.key));
                register.insert(Idle { since: Instant::from_nanos(CONNECTIONS + number), ..idle });
            }
        },
    );
    timed(
        "register: pop the oldest",
        CONNECTIONS,
        || full.clone(),
        |register| {
            while black_box(register.pop_oldest()).is_some() {}
        },
    );
    let rule = IdleBuffers::Halve(Halving::OKAMOTO_2001);
    each("register: memory, with halving", || {
        let _ = black_box(full.memory(rule, NOW));
    });
}

fn management() {
    let idle = IdleBuffers::Halve(Halving::OKAMOTO_2001);
    let full = full_register();
    let total = NonZeroU64::new(CONNECTIONS).expect("not 0");
    let load = Load { connections: Some(Usage { used: CONNECTIONS, total }), ..Load::default() };
    let thresholds = Thresholds::all(Threshold::DEFAULT);
    let rule = Reclaim { thresholds, idle, at_most: Reclaim::AT_MOST };
    timed(
        "relief: a closing, 1,000 at a time",
        1_000,
        || full.clone(),
        |register| {
            let relief = rule.relieve(register, &load, NOW);
            assert_eq!(relief.closings.len(), 1_000);
        },
    );
    let limit = Limit { connections: total, when_full: WhenFull::CloseOldestIdle, idle };
    timed(
        "admission at the limit",
        CONNECTIONS,
        || full.clone(),
        |register| {
            for _ in 0..CONNECTIONS {
                let _ = black_box(limit.admit(register, CONNECTIONS, None, NOW));
            }
        },
    );
}

fn full_register() -> Register<u64> {
    let mut register = Register::new();
    (0..CONNECTIONS).for_each(|number| register.insert(idle(number)));
    register
}

/// Resident memory in bytes (proc(5), pages of 4 KB); `None` without `/proc`.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4_096)
}

/// Connections of many kinds: three loss rates, round trips of 10 to 264 ms.
fn sender(number: u64) -> Sender {
    let mut loss = LossEstimate::new(Gain::EIGHTH);
    (0..number % 3).for_each(|_| loss.observe(Sent { segments: 1_000, lost: 1 + number % 7 }));
    let round_trip = Nanos::from_millis(10 + number % 255);
    Sender {
        loss: loss.loss(),
        round_trip,
        timeout: round_trip * 3,
        mss: NonZeroU32::new(1_460).expect("not 0"),
        peer_window: ByteCount(256 * 1_024),
        segments_per_ack: NonZeroU8::new(2).expect("not 0"),
    }
}

fn idle(number: u64) -> Idle<u64> {
    let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % CONNECTIONS;
    Idle { key, since: Instant::from_nanos(number), held: ByteCount(16_384) }
}

fn each(name: &str, mut run: impl FnMut()) {
    timed(name, CONNECTIONS, || (), |()| run());
}

/// Prints the time of one of `decisions` that `run` makes, without what `prepare` takes.
fn timed<T>(
    name: &str,
    decisions: u64,
    mut prepare: impl FnMut() -> T,
    mut run: impl FnMut(&mut T),
) {
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let mut prepared = prepare();
        let began = std::time::Instant::now();
        run(&mut prepared);
        fastest = fastest.min(began.elapsed());
    }
    let seconds = fastest.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a million")]
    let each = seconds * 1e9 / decisions as f64;
    println!("{name:40} {each:8.1} ns each {:9.2} ms in all", seconds * 1e3);
}
