//! Ackwise: `ackwise run` with an experiment of the repository and the TCP configuration of the
//! other simulators' scripts.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::simulator::{Simulator, Watch};
use super::work::{Counts, Seconds, Work};

/// The built program.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) program: PathBuf,
    pub(super) tcp: Tcp,
}

/// The TCP of both ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tcp {
    /// That of the scripts for ns-2 and ns-3.
    Same,
    /// `linux-6`.
    Linux,
    /// `linux-6` without the policies that it shares with no other preset.
    PlainLinux,
}

impl Tcp {
    const fn name(self) -> &'static str {
        match self {
            Self::Same => "ackwise",
            Self::Linux => "linux-6",
            Self::PlainLinux => "plain",
        }
    }

    const fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Same => &SAME_TCP,
            Self::Linux => &[LINUX],
            Self::PlainLinux => &PLAIN_LINUX,
        }
    }
}

impl Ours {
    /// Runs `experiment` on one thread, with some values replaced.
    pub(super) fn run(&self, experiment: &str, settings: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", experiment, "--json", "--threads", "1"]);
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        command
    }
}

impl Simulator for Ours {
    fn name(&self) -> &'static str {
        self.tcp.name()
    }

    /// Packets are always counted.
    fn command(&self, work: Work, seconds: Seconds, _watch: Watch) -> Command {
        let experiment = match work {
            Work::Dumbbell => "crates/lab/experiments/dumbbell.toml",
            Work::Connections => "crates/lab/experiments/arrivals.toml",
        };
        // A duration of zero is rejected, because it is usually a mistake.
        let duration = match seconds {
            Seconds(0) => "duration=\"1 us\"".to_owned(),
            Seconds(seconds) => format!("duration=\"{seconds} s\""),
        };
        let mut settings = vec![duration.as_str()];
        settings.extend(self.tcp.settings());
        if work == Work::Connections && self.tcp == Tcp::Same {
            settings.extend(SAME_PACKETS);
        }
        self.run(experiment, &settings)
    }

    fn counts(&self, _work: Work, output: &str) -> Option<Counts> {
        let measures = measures(output)?;
        let number = |name: &str| measures.get(name).and_then(whole);
        Some(Counts {
            packet_hops: number("work.packet_hops")?,
            connections: number("short.documents"),
        })
    }
}

/// The measures of the first row.
pub(super) fn measures(json: &str) -> Option<Value> {
    let report: Value = serde_json::from_str(json).ok()?;
    report.get("rows")?.get(0)?.get("measures").cloned()
}

/// Counts are written as numbers, possibly with a decimal point.
pub(super) fn whole(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count that was whole and below 2^53 when it was written"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|value| value as u64))
}

/// Settings of the scripts for ns-2 and ns-3 that differ from the presets.
pub(super) const SAME_TCP: [&str; 7] = [
    "tcp.ack=\"every-segment\"",
    "tcp.congestion=\"new-reno\"",
    "tcp.hold=\"off\"",
    "tcp.initial_window=10",
    "tcp.timers=\"linux\"",
    "tcp.sack=false",
    "tcp.timestamps=false",
];

const LINUX: &str = "tcp.preset=\"linux-6\"";

/// CUBIC of RFC 9438, SACK of RFC 6675 and buffers of constant size.
const PLAIN_LINUX: [&str; 11] = [
    LINUX,
    "tcp.slow_start=\"until-loss\"",
    "tcp.loss_detection=\"rfc-6675\"",
    "tcp.deferral=\"off\"",
    "tcp.reduction=\"at-once\"",
    "tcp.undo=\"off\"",
    "tcp.frto=\"off\"",
    "tcp.d_sack=\"off\"",
    "tcp.unused_window=\"kept\"",
    "tcp.receive_tuning=\"off\"",
    "tcp.send_tuning=\"off\"",
];

/// The other two acknowledge SYN-ACK, last data and FIN before a program sends data: 26 packets per
/// connection, three of which would otherwise be combined with later ones.
const SAME_PACKETS: [&str; 2] =
    ["application.short.prompt_acks=true", "application.short.hold=\"1 us\""];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_the_first_row() {
        let ours = Ours { program: PathBuf::new(), tcp: Tcp::Same };
        let json = r#"{"rows":[{"case":{},"seed":1,"measures":
            {"work.packet_hops":4538815.0,"short.documents":49900}}]}"#;
        let counts = Counts { packet_hops: 4_538_815, connections: Some(49_900) };
        assert_eq!(ours.counts(Work::Connections, json), Some(counts));
        assert_eq!(ours.counts(Work::Dumbbell, r#"{"rows":[]}"#), None);
    }
}
