//! What is at stake, from samples of the connections: segments that Nagle's algorithm holds, and bytes that
//! wait in the server's kernel although the client does not take them.
//!
//! A segment that waits 40 ms is seen in several samples; each adds the time since the one before, so the
//! sum is right on average whatever the interval, and shorter waits are missed more often.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ackwise_linux::sockets::TcpSocket;
use ackwise_text::words::{counted, grouped, rounded};
use ackwise_tuning::SendSide;

use crate::{Act, Line};

/// What some samples have shown.
#[derive(Debug, Default)]
pub(crate) struct Stake {
    /// Connections that held a segment in the sample before.
    holding: BTreeSet<u64>,
    /// Connections with the time for which they held segments.
    held: BTreeMap<u64, Duration>,
    segments: u64,
    seen: BTreeSet<u64>,
    samples: u64,
    unsent: u64,
    beyond: u64,
    watched: Duration,
}

impl Stake {
    /// Takes one sample, `interval` after the one before.
    pub(crate) fn sample(&mut self, sockets: &[TcpSocket], bound: Option<u32>, interval: Duration) {
        let before = std::mem::take(&mut self.holding);
        self.samples += 1;
        self.watched += interval;
        for socket in sockets.iter().take(SAMPLE_LIMIT) {
            let Some(info) = socket.info else { continue };
            if self.seen.len() < SAMPLE_LIMIT {
                self.seen.insert(socket.cookie);
            }
            self.unsent += u64::from(info.notsent_bytes);
            self.beyond += u64::from(info.notsent_bytes.saturating_sub(bound.unwrap_or(u32::MAX)));
            if send_side(socket).is_some_and(|side| side.holds_a_small_segment()) {
                self.segments += u64::from(!before.contains(&socket.cookie));
                self.holding.insert(socket.cookie);
                if self.held.len() < SAMPLE_LIMIT {
                    *self.held.entry(socket.cookie).or_default() += interval;
                }
            }
        }
    }

    /// Which connections were seen to hold a segment, for how long in total.
    pub(crate) fn held(&self) -> Duration {
        self.held.values().sum()
    }

    /// A line for `--nodelay`.
    pub(crate) fn no_delay(&self, at: Duration) -> Line {
        let watched = rounded(self.watched);
        let connections = counted(self.seen.len() as u64, "connection");
        let reason = match self.segments {
            _ if self.seen.is_empty() => self.nothing_seen(),
            0 => format!(
                "no segment was seen waiting for a delayed ACK in {watched} on {connections}; if clients \
                 waited in that time, they did not wait for Nagle's algorithm"
            ),
            segments => format!(
                "{} waited for an ACK for {} in total, consistent with Nagle's algorithm, in {watched} on {} \
                 of {connections}",
                counted(segments, "segment"),
                rounded(self.held()),
                grouped(self.held.len() as u64),
            ),
        };
        let mut line = Line::new(at, Act::Stake, reason);
        line.count = Some(self.segments);
        line.stake_ms = Some((self.held().as_secs_f64() * 1e6).round() / 1e3);
        line
    }

    /// A line for `--unsent`.
    pub(crate) fn unsent(&self, bound: u32, at: Duration) -> Line {
        let mean = |sum: u64| sum.checked_div(self.samples).unwrap_or(0);
        let reason = match self.seen.len() as u64 {
            0 => self.nothing_seen(),
            seen => format!(
                "{} hold {} unsent bytes on average over {}, {} of them above the limit of {} per connection",
                counted(seen, "connection"),
                grouped(mean(self.unsent)),
                rounded(self.watched),
                grouped(mean(self.beyond)),
                grouped(u64::from(bound)),
            ),
        };
        let mut line = Line::new(at, Act::Stake, reason);
        line.count = Some(self.seen.len() as u64);
        line.stake_bytes = Some(mean(self.beyond));
        line
    }

    fn nothing_seen(&self) -> String {
        let watched = rounded(self.watched);
        format!(
            "no connection was open for {watched}: send requests during the run, or watch for longer (--watch)"
        )
    }
}

fn send_side(socket: &TcpSocket) -> Option<SendSide> {
    let info = socket.info?;
    Some(SendSide {
        unsent: info.notsent_bytes,
        in_flight: socket.send_queue.saturating_sub(info.notsent_bytes),
        segments_in_flight: info.unacked,
        mss: info.snd_mss,
        cwnd: info.snd_cwnd,
        peer_window: info.snd_wnd,
    })
}

/// Largest number of connections in a sample (our choice).
const SAMPLE_LIMIT: usize = 100_000;
