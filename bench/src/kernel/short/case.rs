//! A short exchange, and which of its packets are lost, drawn by seed.

use std::fmt::{self, Write as _};

use crate::dice::Dice;
use crate::kernel::path::SEGMENT;

/// Everything that decides a comparison. Both worlds get the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) number: u64,
    preset: Preset,
    options: Options,
    /// In kb/s, in both directions.
    rate: u32,
    /// One way, in microseconds.
    delay: u32,
    /// Bytes of each response, its head included.
    pub(super) size: u32,
    pub(super) responses: u32,
    /// Between a response and the next request, in milliseconds.
    idle: u32,
    pub(super) ending: Ending,
    writing: Writing,
    /// Packets that are lost, by their number in the direction: from the client, and from the server.
    lost: [Vec<u64>; 2],
    /// Where the kernel's clock stands when the run begins, in microseconds after a tick of 256 ms.
    pub(super) phase: u32,
}

/// What the kernel can play.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Preset {
    Cubic,
    Reno,
    Bbr,
}

/// What the SYNs agree on, and how the ends acknowledge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Options {
    All,
    NoTimestamps,
    NoSack,
    EverySegment,
}

/// Who closes after the response, if anybody does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    ServerCloses,
    ClientCloses,
    Kept,
}

/// How the server writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Writing {
    AtOnce,
    /// The head in a write of its own, with Nagle's algorithm.
    HeadApart,
    /// The same without it.
    HeadApartNoDelay,
}

/// The ranges of [`Case::draw`] (our choice).
pub(super) const RANGES: &str = "\
cases: 1 to 12 segments, the last of any size; round trips of 1 to 200 ms, 2 to 100 Mb/s; one response and a close by the
server or the client, or 1 to 3 responses on a kept connection, 0 to 1 s apart; head and body in one write or apart, with
Nagle's algorithm or without; CUBIC, Reno and BBR; without timestamps, without SACK, or with an ACK for each segment in a
sixth each; in both directions, packets lost at random (5 to 25 %), one, two or three in a row, or none; a SYN in one of 40";

impl Case {
    pub(super) fn draw(seed: u64, number: u64) -> Self {
        let mut dice = Dice::new(seed).of("short", number);
        let preset = pick(&mut dice, &[Preset::Cubic, Preset::Cubic, Preset::Reno, Preset::Bbr]);
        let options = match dice.between(0, 5) {
            0 => Options::NoTimestamps,
            1 => Options::NoSack,
            2 => Options::EverySegment,
            _ => Options::All,
        };
        let ending = pick(&mut dice, &[Ending::ServerCloses, Ending::ClientCloses, Ending::Kept]);
        let writing = pick(
            &mut dice,
            &[
                Writing::AtOnce,
                Writing::AtOnce,
                Writing::AtOnce,
                Writing::HeadApart,
                Writing::HeadApartNoDelay,
            ],
        );
        let segments = dice.between(1, 12) - 1;
        let tail = dice.between(1, whole(SEGMENT));
        let responses = if ending == Ending::Kept { dice.between(1, 3) } else { 1 };
        Self {
            number,
            preset,
            options,
            rate: whole(dice.scaled(2_000.0, 100_000.0)),
            delay: whole(dice.scaled(500.0, 100_000.0)),
            size: (segments * whole(SEGMENT) + tail).max(HEAD + 1),
            responses,
            idle: dice.between(0, 1_000),
            ending,
            writing,
            lost: [lost(dice.of("client", 0)), lost(dice.of("server", 0))],
            phase: dice.between(0, 255_999),
        }
    }

    /// An experiment file for `ackwise run`, with the clock of both hosts as far as `tick_phase` says, in
    /// nanoseconds.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(super) fn toml(&self, tick_phase: u64) -> String {
        let Self { number, rate, delay, size, responses, idle, .. } = self;
        let preset = match self.preset {
            Preset::Cubic => "preset = \"linux-6\"",
            Preset::Reno => {
                "preset = \"linux-6\"\ncongestion = \"linux-reno\"\nslow_start = \"until-loss\""
            }
            Preset::Bbr => "preset = \"linux-6-bbr\"",
        };
        let options = match self.options {
            Options::All => "",
            Options::NoTimestamps => "timestamps = false\n",
            Options::NoSack => "sack = false\n",
            Options::EverySegment => "ack = \"every-segment\"\n",
        };
        let (head, flush, nagle) = match self.writing {
            Writing::AtOnce => (0, "joined", "on"),
            Writing::HeadApart => (HEAD, "apart", "on"),
            Writing::HeadApartNoDelay => (HEAD, "apart", "off"),
        };
        let body = size - head;
        let (transfer, connections) = match self.ending {
            // HTTP/1.0: the server closes when it has written.
            Ending::ServerCloses => ("serial", "per-document"),
            Ending::ClientCloses => ("persistent", "per-document"),
            Ending::Kept => ("persistent", "kept"),
        };
        let [from_client, from_server] = self.lost.each_ref().map(|lost| match lost[..] {
            [] => String::new(),
            _ => format!("loss = {{ nth = {lost:?} }}\n"),
        });
        let mut back = String::new();
        if !from_server.is_empty() {
            let _ = write!(back, "[link.path.back]\n{from_server}");
        } else if !from_client.is_empty() {
            back.push_str("[link.path.back]\nloss = \"0 %\"\n");
        }
        format!(
            r#"title = "Short case {number} of the comparison with the kernel"
duration = "{LONGEST} s"
[tcp]
{preset}
{options}tick_phase = "{tick_phase} ns"
[host]
client = {{}}
server = {{}}
[link.path]
ends = ["client", "server"]
rate = "{rate} kb/s"
delay = "{delay} us"
{from_client}{back}[application.web]
kind = "web"
client = "client"
server = "server"
start = "{START} ms"
pages = {responses}
request = "{REQUEST} B"
response_head = "{head} B"
workload = {{ primary = "{body} B", inlines = [] }}
transfer = "{transfer}"
connections = "{connections}"
think = "{idle} ms"
behaviour = {{ think = "80 us", think_after_head = "5 us", head_flush = "{flush}", nagle = "{nagle}" }}
prompt_acks = true
"#
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preset, options, ending, writing, lost, .. } = self;
        let segments = self.size.div_ceil(whole(SEGMENT));
        let (rate, trip) = (f64::from(self.rate) / 1e3, f64::from(self.delay) / 500.0);
        write!(f, "{preset:?} {options:?} {trip:.1} ms {rate:.1} Mb/s ")?;
        write!(f, "{} x {segments} ({} B) {ending:?}", self.responses, self.size)?;
        if self.responses > 1 {
            write!(f, " idle {} ms", self.idle)?;
        }
        write!(f, " {writing:?} lost {:?} {:?}", lost[0], lost[1])
    }
}

/// What a direction loses, of its first packets.
fn lost(mut dice: Dice) -> Vec<u64> {
    let mut lost: Vec<u64> = match dice.between(0, 5) {
        0 | 1 => Vec::new(),
        2 => vec![u64::from(dice.between(2, 16))],
        3 => {
            let first = u64::from(dice.between(2, 16));
            (first..=first + u64::from(dice.between(1, 2))).collect()
        }
        _ => {
            let share = 0.05 + 0.2 * dice.unit();
            (2..LAST_LOST).filter(|_| dice.unit() < share).collect()
        }
    };
    if dice.between(0, 79) == 0 {
        lost.insert(0, 1);
    }
    lost
}

fn pick<T: Copy>(dice: &mut Dice, of: &[T]) -> T {
    let last = u32::try_from(of.len() - 1).unwrap_or(0);
    of[dice.between(0, last) as usize]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the ranges")]
fn whole(value: f64) -> u32 {
    value.round() as u32
}

/// Bytes of a request and of a response's head (our choice).
pub(super) const REQUEST: u32 = 200;
const HEAD: u32 = 300;
/// Until the client connects, in milliseconds (our choice): the programs have begun.
pub(super) const START: u32 = 20;
/// In seconds: longer than any case takes (our choice).
const LONGEST: u32 = 60;
/// Packets from this one on arrive (our choice), lest a case take minutes.
const LAST_LOST: u64 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::experiment;

    #[test]
    fn every_case_is_an_experiment_and_a_seed_gives_the_same_ones() {
        for number in 0..60 {
            let case = Case::draw(1, number);
            assert_eq!(case, Case::draw(1, number));
            let toml = case.toml(1_000_000);
            let read = experiment::scenario(&toml, &[], 1);
            assert!(read.is_ok(), "{toml}\n{read:?}");
        }
    }

    #[test]
    fn each_kind_is_drawn() {
        let all: Vec<Case> = (0..240).map(|number| Case::draw(1, number)).collect();
        let count = |is: fn(&Case) -> bool| all.iter().filter(|case| is(case)).count();
        assert!(count(|it| it.options == Options::NoSack) > 20);
        assert!(count(|it| it.writing == Writing::HeadApart) > 20);
        assert!(count(|it| it.ending == Ending::ServerCloses) > 60);
        assert!(count(|it| !it.lost[0].is_empty() && !it.lost[1].is_empty()) > 60);
        assert!(count(|it| it.lost.iter().any(|lost| lost.first() == Some(&1))) > 2);
    }
}
