//! What a report does not cover, and how far it can be trusted.

use super::reading::Explained;
use crate::check::report::printable;

/// A line for each: what was left out, what the capture lost, what could not be read.
pub(super) fn notes(explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    let reasons: Vec<String> =
        explained.left_out.iter().map(|(why, count)| format!("{count} {}", why.as_str())).collect();
    if !reasons.is_empty() {
        notes.push(format!("Left out of {} packets: {}.", explained.packets, reasons.join(", ")));
    }
    let lost = explained.drops.packets();
    if lost > 0 {
        notes.push(format!("The capture itself lost {lost} packets."));
    }
    notes.extend(explained.troubles.iter().map(|it| format!("warning: {}", printable(it))));
    notes
}
