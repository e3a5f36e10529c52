//! What a report does not cover, and how far it can be trusted.

use ackwise_capture::{
    decode::QuicConnections,
    limits::{Limit, Reached},
};
use ackwise_text::{
    printable,
    words::{counted, grouped},
};

use super::{
    close_waits, decryption, grpc,
    joined::{Counts, Joined},
    key_shares, ports,
    reading::Explained,
    tunnels,
};

/// One line each: packets not analysed, packets the capture lost, parts that could not be read.
pub(super) fn notes(explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Joined { clocks, counts }) = &explained.joined {
        let Counts { connections, exchanges, alone } = counts;
        notes.push(format!(
            "Two captures: {} in both, {} explained from both captures, {} from the client's only. \
             For exchanges explained from both, the packet numbers of waits \"to client\" refer to \
             the server's capture.",
            counted(*connections, "connection"),
            counted(*exchanges, "exchange"),
            grouped(*alone),
        ));
        notes.push(format!("Clocks: {clocks}."));
    }
    let mut reasons: Vec<String> = explained
        .left_out
        .iter()
        .map(|(why, count)| format!("{} {}", grouped(count), why.as_str()))
        .collect();
    if explained.filtered_out > 0 {
        reasons.push(format!("{} excluded by --filter", grouped(explained.filtered_out)));
    }
    if !reasons.is_empty() {
        let packets = counted(explained.packets, "packet");
        notes.push(format!("Not analysed, out of {packets}: {}.", reasons.join(", ")));
    }
    notes.extend(quic(&explained.quic));
    notes.extend(key_shares::note(&explained.analysis));
    notes.extend(decryption::note(&explained.analysis));
    notes.extend(grpc::note(&explained.analysis));
    notes.extend(tunnels::note(&explained.analysis));
    notes.extend(close_waits::notes(&explained.analysis));
    notes.extend(ports::warnings(&explained.analysis));
    let lost = explained.drops.packets();
    if lost > 0 {
        notes.push(format!("The capture dropped {}.", counted(lost, "packet")));
    }
    let reached = explained.reached();
    notes.extend(reached.iter().map(|(it, times)| limit(it, times, &reached)));
    notes.extend(explained.warnings.iter().map(|it| format!("warning: {}", printable(it))));
    notes
}

/// `2 QUIC connections (HTTP/3), not analysed: of 1 client with 1 server.`
fn quic(quic: &QuicConnections) -> Option<String> {
    let more = if quic.is_full() { "At least " } else { "" };
    let connections = counted(quic.count(), "QUIC connection");
    let [clients, servers] = [(quic.clients(), "client"), (quic.servers(), "server")]
        .map(|(count, who)| counted(count, who));
    (quic.count() > 0).then(|| {
        format!(
            "{more}{connections} (HTTP/3), not analysed: of {clients} with {servers}. QUIC encrypts its acknowledgements."
        )
    })
}

/// What was left out because of a limit.
fn limit(limit: Limit, times: u64, reached: &Reached) -> String {
    format!(
        "Limit {limit} reached: at most {} {}. {} beyond it: {} (docs/limits.md).",
        grouped(reached.most(limit)),
        limit.bounds(),
        counted(times, limit.counts()),
        limit.beyond(),
    )
}
