//! One simulator: its commands, and the parsing of its output.

use std::process::Command;

use super::work::{Counts, Seconds, Work};

/// Ackwise, ns-2 or ns-3.
pub(super) trait Simulator {
    /// Its name in the table.
    fn name(&self) -> &'static str;

    /// The command that runs `work` for `seconds` of virtual time, either fast or with packet
    /// counts.
    fn command(&self, work: Work, seconds: Seconds, watch: Watch) -> Command;

    /// Parses the output of a command with [`Watch::Count`]; `None` if it is malformed.
    fn counts(&self, work: Work, output: &str) -> Option<Counts>;

    /// Virtual time to run: shorter than the work's if it would take minutes.
    fn seconds(&self, work: Work) -> Seconds {
        work.seconds()
    }
}

/// Whether packets are counted, which takes time in some simulators.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Watch {
    Nothing,
    Count,
}

/// Parses lines of a word and a number, as printed by the scripts for ns-2 and ns-3.
pub(super) fn parse_counts(output: &str) -> Option<Counts> {
    let number = |word: &str| {
        let rest = output.lines().find_map(|line| line.strip_prefix(word))?;
        rest.trim().parse().ok()
    };
    Some(Counts { packet_hops: number("hops ")?, connections: number("closed ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_lines_of_a_word_and_a_number() {
        let all = Counts { packet_hops: 1_299_080, connections: Some(49_920) };
        assert_eq!(parse_counts("hops 1299080\nopened 50000\nclosed 49920\n"), Some(all));
        let hops = Counts { packet_hops: 7, connections: None };
        assert_eq!(parse_counts("hops 7\n"), Some(hops));
        assert_eq!(parse_counts("invalid command name\n"), None);
    }
}
