//! What a report does not cover, and how far it can be trusted.

use ackwise_report::printable;

use super::{
    pair::{Counts, Joined},
    reading::Explained,
    text::counted,
};

/// A line for each: what was left out, what the capture lost, what could not be read.
pub(super) fn notes(explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Joined { clocks, counts }) = &explained.joined {
        let Counts { connections, exchanges, alone } = counts;
        notes.push(format!(
            "Two captures: {} in both, {} explained by both captures, {alone} by the client's only. For \
             exchanges explained by both, packet numbers of waits to the client refer to the server's \
             capture.",
            counted(*connections, "connection"),
            counted(*exchanges, "exchange"),
        ));
        notes.push(format!("Clocks: {clocks}."));
    }
    let reasons: Vec<String> =
        explained.left_out.iter().map(|(why, count)| format!("{count} {}", why.as_str())).collect();
    if !reasons.is_empty() {
        notes.push(format!("Ignored packets of {}: {}.", explained.packets, reasons.join(", ")));
    }
    let lost = explained.drops.packets();
    if lost > 0 {
        notes.push(format!("The capture dropped {lost} packets."));
    }
    notes.extend(explained.troubles.iter().map(|it| format!("warning: {}", printable(it))));
    notes
}
