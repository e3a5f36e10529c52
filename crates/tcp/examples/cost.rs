//! What the endpoints of a transfer cost, to count instructions by: `valgrind --tool=callgrind
//! target/release/examples/cost rfc|plain|linux-6|linux-6-bbr [MEGABYTES] [DROP-ONE-IN]`.
//!
//! Both ends and nothing else: segments wait in two lists for half a round trip of 10 ms each way. `plain` is
//! `linux-6` without the policies that it shares with no other preset.

use std::{collections::VecDeque, env, time::Duration};

use ackwise_tcp::{
    Config, Endpoint, Instant, Policies, Segment, SeqNumber, State,
    policy::{
        BufferTuning, DSackPolicy, DeferralPolicy, FrtoPolicy, LossDetection, ReductionPolicy,
        SlowStartPolicy, UndoPolicy, UnusedWindow,
    },
};

fn main() {
    let number = |nth| env::args().nth(nth).and_then(|text| text.parse::<u64>().ok());
    let policies = match env::args().nth(1).as_deref() {
        Some("plain") => PLAIN_LINUX,
        Some("linux-6") => Policies::LINUX_6,
        Some("linux-6-bbr") => Policies::LINUX_6_BBR,
        _ => Policies::RFC,
    };
    let bytes = 1_000_000 * number(2).unwrap_or(10);
    let (sent, received) = transfer(policies, bytes, number(3).unwrap_or(u64::MAX));
    println!("{sent} segments sent, {received} received, each with both ends' work");
}

/// Linux 6 with CUBIC of RFC 9438, SACK of RFC 6675 and buffers of constant size.
const PLAIN_LINUX: Policies = Policies {
    slow_start: SlowStartPolicy::UntilLoss,
    loss_detection: LossDetection::Rfc6675,
    reduction: ReductionPolicy::AtOnce,
    undo: UndoPolicy::Off,
    frto: FrtoPolicy::Off,
    deferral: DeferralPolicy::Off,
    d_sack: DSackPolicy::Off,
    unused_window: UnusedWindow::Kept,
    receive_tuning: BufferTuning::Off,
    send_tuning: BufferTuning::Off,
    ..Policies::LINUX_6
};

const HALF: Duration = Duration::from_millis(5);
/// The line takes a full segment each 12 us: 1 Gb/s.
const SPACING: Duration = Duration::from_micros(12);

/// What is on its way to one end.
type Line = VecDeque<(Instant, Segment)>;

/// How many segments have left and arrived.
fn transfer(policies: Policies, bytes: u64, drop_one_in: u64) -> (u64, u64) {
    let mut now = Instant::from_nanos(1_000_000_000);
    let config = Config { receive_buffer: 1 << 20, send_buffer: 1 << 20, ..Config::new(policies) };
    let mut ends =
        [Endpoint::listen(config, SeqNumber(1)), Endpoint::connect(config, SeqNumber(2), now)];
    let mut lines: [Line; 2] = [VecDeque::new(), VecDeque::new()];
    let mut free = [now; 2];
    let (mut written, mut sent, mut received, mut data) = (0, 0, 0, 0);
    while ends[0].acknowledged() < bytes {
        if ends[0].state() == State::Established && written < bytes {
            let most = u32::try_from(bytes - written).unwrap_or(u32::MAX);
            written += u64::from(ends[0].write(most));
        }
        for end in 0..2 {
            while let Some(transmit) = ends[end].poll_transmit(now) {
                sent += 1;
                data += u64::from(transmit.segment.len > 0);
                if transmit.segment.len > 0 && data % drop_one_in == 0 {
                    continue;
                }
                let leaves = now.max(free[end]);
                free[end] = leaves + SPACING;
                lines[1 - end].push_back((free[end] + HALF, transmit.segment));
            }
            while ends[end].poll_event().is_some() {}
        }
        let timers = ends.iter().filter_map(|end| Some(end.poll_timeout()?.at));
        let arrivals = lines.iter().filter_map(|line| Some(line.front()?.0));
        let Some(next) = timers.chain(arrivals).min() else { break };
        now = now.max(next);
        for (end, line) in ends.iter_mut().zip(&mut lines) {
            while let Some((_, segment)) = line.pop_front_if(|(at, _)| *at <= now) {
                received += 1;
                let _ = end.handle_segment(&segment, now);
                end.read(u32::MAX);
            }
            if end.poll_timeout().is_some_and(|deadline| deadline.at <= now) {
                end.handle_timeout(now);
            }
        }
    }
    (sent, received)
}
