//! What a report does not cover, and how far it can be trusted.

use ackwise_report::{
    printable,
    words::{counted, grouped},
};

use super::{
    joined::{Counts, Joined},
    reading::Explained,
};

/// A line for each: what was left out, what the capture lost, what could not be read.
pub(super) fn notes(explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Joined { clocks, counts }) = &explained.joined {
        let Counts { connections, exchanges, alone } = counts;
        notes.push(format!(
            "Two captures: {} in both, {} explained by both captures, {} by the client's only. For \
             exchanges explained by both, packet numbers of waits to the client refer to the \
             server's \
             capture.",
            counted(*connections, "connection"),
            counted(*exchanges, "exchange"),
            grouped(*alone),
        ));
        notes.push(format!("Clocks: {clocks}."));
    }
    let reasons: Vec<String> = explained
        .left_out
        .iter()
        .map(|(why, count)| format!("{} {}", grouped(count), why.as_str()))
        .collect();
    if !reasons.is_empty() {
        let packets = counted(explained.packets, "packet");
        notes.push(format!("Ignored of {packets}: {}.", reasons.join(", ")));
    }
    let lost = explained.drops.packets();
    if lost > 0 {
        notes.push(format!("The capture dropped {}.", counted(lost, "packet")));
    }
    notes.extend(explained.warnings.iter().map(|it| format!("warning: {}", printable(it))));
    notes
}
