//! One simulator: how it is asked to do the work, and what it says of it.

use std::process::Command;

use super::work::{Counts, Seconds, Work};

/// Ours, ns-2 or ns-3.
pub(super) trait Simulator {
    /// What the table calls it.
    fn name(&self) -> &'static str;

    /// The command that does `work` for `seconds` of virtual time, quickly or with its packets counted.
    fn command(&self, work: Work, seconds: Seconds, watch: Watch) -> Command;

    /// What a command with [`Watch::Count`] printed; `None` if this is something else.
    fn counts(&self, work: Work, output: &str) -> Option<Counts>;

    /// How much of the work's time it is given: less if it takes minutes otherwise.
    fn seconds(&self, work: Work) -> Seconds {
        work.seconds()
    }
}

/// Whether packets are counted, which costs time in some simulators.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Watch {
    Nothing,
    Count,
}

/// Reads lines of a word and a number, as our scripts for ns-2 and ns-3 print them.
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
