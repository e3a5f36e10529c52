//! What a run has done.

use ackwise_text::words::{counted, grouped};

use crate::{Options, Target};

/// What a run did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// Options set, on listening sockets and connections.
    pub set: u64,
    /// Idle connections closed.
    pub closed: u64,
    /// Those of them to servers behind the process.
    pub closed_upward: u64,
    /// Those of them whose order of events was not known.
    pub closed_unsure: u64,
    /// Closed connections that ended with a reset: a request had crossed the close.
    pub reset: u64,
    /// Closed connections that the server had not closed by itself after a while: it may have worked on a request.
    pub cut_off: u64,
    /// Values that could not be given back.
    pub not_given_back: u64,
}

impl Summary {
    /// For the last line.
    pub(crate) fn words(self, options: &Options) -> String {
        let Self { set, closed, closed_upward, closed_unsure, reset, cut_off, not_given_back } =
            self;
        let mut words = format!("{} set", counted(set, "option"));
        if options.closing.is_some() {
            let upward = match options.target {
                Target::Processes { .. } => format!("{} of them upward, ", grouped(closed_upward)),
                Target::Port(_) => String::new(),
            };
            words += &format!(
                ", {} closed ({upward}{} of them by --unsure-after; {} reset, {} cut off)",
                counted(closed, "idle connection"),
                grouped(closed_unsure),
                grouped(reset),
                grouped(cut_off)
            );
        }
        if not_given_back > 0 {
            let values = counted(not_given_back, "value");
            words += &format!("; {values} not restored: run `ackwise tune --undo`");
        }
        words
    }
}
