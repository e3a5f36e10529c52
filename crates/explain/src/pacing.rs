//! What is said about senders that are paced, and about those that behave like BBR.

use std::time::Duration;

use ackwise_capture::attribution::{Confidence, Pacing};
use ackwise_text::words::{counted, grouped, rounded};

/// What one end of a connection shows: `server paced at 9.6 Mb/s: …`.
pub(super) fn of_end(end: &str, it: &Pacing) -> Vec<String> {
    let mut facts = Vec::new();
    if it.is_paced() {
        let [by_timer, of] = it.by_timer.map(|count| grouped(count.into()));
        let rival = match it.confidence() {
            Confidence::High => "high confidence",
            Confidence::Medium | Confidence::Low => {
                "medium confidence, or a slow link at the sender"
            }
        };
        facts.push(format!(
            "{end} paced at {}: a timer, not an ACK, released {by_timer} of {of} bursts ({rival})",
            rate(it.rate),
        ));
    }
    if let Some(confidence) = it.bbr() {
        facts.push(format!("{end} like BBR ({} confidence): {}", confidence.name(), phases(it)));
    }
    facts
}

/// The phases that were seen.
fn phases(it: &Pacing) -> String {
    let mut seen = Vec::new();
    if let Some([startup, drain]) = it.start {
        seen.push(format!("startup {}, drain {}", rounded(startup), rounded(drain)));
    }
    if it.gain_cycles > 0 {
        seen.push(counted(it.gain_cycles.into(), "gain cycle"));
    }
    if it.probe_rtts > 0 {
        seen.push(probe_rtts(it.probe_rtts.into(), it.probe_rtt_time));
    }
    seen.join(", ")
}

/// `ProbeRTT 2 times: at most 4 segments in flight for 412 ms`.
fn probe_rtts(times: u64, time: Duration) -> String {
    let times = counted(times, "time");
    format!("ProbeRTT {times}: at most 4 segments in flight for {}", rounded(time))
}

/// What the connections to a server show of its sending.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct PacedConnections {
    paced: u64,
    bbr: u64,
    probe_rtts: u64,
    probe_rtt_time: Duration,
}

impl PacedConnections {
    pub(super) fn add(&mut self, it: &Pacing) {
        self.paced += u64::from(it.is_paced());
        self.bbr += u64::from(it.bbr().is_some());
        if it.bbr().is_some() {
            self.probe_rtts += u64::from(it.probe_rtts);
            self.probe_rtt_time += it.probe_rtt_time;
        }
    }

    /// One line, if there is anything to say.
    pub(super) fn fact(&self) -> Option<String> {
        let mut said = Vec::new();
        if self.paced > 0 {
            said.push(format!("paced: {}", counted(self.paced, "connection")));
        }
        if self.bbr > 0 {
            said.push(format!("like BBR: {}", counted(self.bbr, "connection")));
        }
        if self.probe_rtts > 0 {
            said.push(probe_rtts(self.probe_rtts, self.probe_rtt_time));
        }
        Some(said.join("; ")).filter(|it| !it.is_empty())
    }
}

/// `12.3 Mb/s`.
fn rate(bits_per_second: u64) -> String {
    let rate = bits_per_second as f64;
    match bits_per_second {
        ..1_000_000 => format!("{:.0} kb/s", rate / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} Mb/s", rate / 1e6),
        _ => format!("{:.1} Gb/s", rate / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_unit_that_fits() {
        let rates = [694_253, 9_672_324, 1_230_000_000].map(rate);
        assert_eq!(rates, ["694 kb/s", "9.7 Mb/s", "1.2 Gb/s"]);
    }

    #[test]
    fn a_server_is_said_to_be_like_bbr_only_with_what_shows_it() {
        let mut all = PacedConnections::default();
        assert_eq!(all.fact(), None);
        all.paced = 2;
        assert_eq!(all.fact().unwrap(), "paced: 2 connections");
        (all.bbr, all.probe_rtts) = (1, 2);
        all.probe_rtt_time = Duration::from_millis(412);
        let said = "paced: 2 connections; like BBR: 1 connection; ProbeRTT 2 times: at most 4 segments in flight for 412 ms";
        assert_eq!(all.fact().unwrap(), said);
    }
}
