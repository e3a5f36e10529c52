//! Which TLS connections were decrypted, and why others were not.

use std::collections::BTreeMap;

use ackwise_capture::analysis::{Analysis, NotOpened};
use ackwise_text::words::{counted, grouped};

/// All names, as JSON has them.
pub(super) const NAMES: [&str; 6] =
    ["yes", "no-handshake", "no-secret", "cipher-suite", "nothing-opens", "lost"];

/// As JSON has it.
pub(super) const fn name(opened: Result<(), NotOpened>) -> &'static str {
    match opened {
        Ok(()) => "yes",
        Err(NotOpened::NoHandshake) => "no-handshake",
        Err(NotOpened::NoSecret) => "no-secret",
        Err(NotOpened::CipherSuite(_)) => "cipher-suite",
        Err(NotOpened::Lost) => "lost",
        Err(_) => "nothing-opens",
    }
}

/// Why a connection was not, in words.
fn reason(why: NotOpened) -> String {
    match why {
        NotOpened::NoHandshake => "no handshake in the capture".to_owned(),
        NotOpened::NoSecret => "no secret in --keys".to_owned(),
        NotOpened::CipherSuite(suite) => {
            format!("cipher suite {suite:#06x} (expected AES-GCM or ChaCha20-Poly1305)")
        }
        NotOpened::Lost => "records lost by the capture".to_owned(),
        _ => "no whole record that a secret opens (capture with -s 0)".to_owned(),
    }
}

/// How many were decrypted; `None` if that was not asked for.
pub(super) fn note(analysis: &Analysis) -> Option<String> {
    let mut sealed: BTreeMap<String, u64> = BTreeMap::new();
    let mut opened = 0;
    for result in analysis.connections.iter().filter_map(|it| it.opened) {
        match result {
            Ok(()) => opened += 1,
            Err(why) => *sealed.entry(reason(why)).or_default() += 1,
        }
    }
    let rest: u64 = sealed.values().sum();
    if opened + rest == 0 {
        return None;
    }
    let mut note =
        format!("Decrypted: {} of {}", grouped(opened), counted(opened + rest, "TLS connection"));
    let reasons: Vec<_> =
        sealed.into_iter().map(|(why, count)| format!("{} {why}", grouped(count))).collect();
    if !reasons.is_empty() {
        note.push_str(". Not: ");
        note.push_str(&reasons.join(", "));
    }
    note.push('.');
    Some(note)
}
