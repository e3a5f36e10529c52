//! The secrets of a run's TLS connections, as clients log them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

/// Lines in the format of `SSLKEYLOGFILE`.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets(Arc<Lines>);

#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl Secrets {
    pub(super) fn key_log(&self) -> Arc<dyn rustls::KeyLog> {
        Arc::clone(&self.0) as Arc<dyn rustls::KeyLog>
    }

    /// Writes them, if there are any.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let lines = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() { Ok(()) } else { fs::write(file, &*lines) }
    }
}

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_str(label);
        for bytes in [client_random, secret] {
            lines.push(' ');
            bytes.iter().for_each(|byte| {
                let _ = write!(lines, "{byte:02x}");
            });
        }
        lines.push('\n');
    }
}
