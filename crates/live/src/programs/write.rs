//! Writes of a program: one call for each, up to a size, and never waiting.

use std::{io, sync::LazyLock};

use super::TURNS;

/// Writes as much of `left` as `call` takes.
pub(super) fn write(
    left: &mut u64,
    mut call: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    for _ in 0..TURNS {
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(CONTENT.len());
        if most == 0 {
            return Ok(());
        }
        match call(&CONTENT[..most]) {
            Ok(bytes) => *left -= bytes as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What all streams consist of. A write is at most so long (our choice): more than any behaviour of the
/// papers writes at once. Made when it is needed: a constant would be a megabyte of every binary.
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| vec![b'a'; 1 << 20]);
