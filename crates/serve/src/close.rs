//! Closes a connection without destroying what was sent on it.
//!
//! RFC 9112, section 9.6: "if the server receives additional data from the client on a fully closed
//! connection […] the server's TCP stack will send a reset packet to the client; unfortunately, the
//! reset packet might erase the client's unacknowledged input buffers before they can be read". So
//! the server closes its half and reads on, for a bounded time and a bounded number of bytes.

use std::{
    io::Read,
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use crate::{
    limits::{LINGER_BYTES, READ_SIZE},
    send::left_until,
};

/// Sends a FIN, then waits `linger` at most for the client's.
///
/// Errors end it early and are nobody's concern any more.
pub(crate) fn close(stream: &TcpStream, linger: Duration) {
    if stream.shutdown(Shutdown::Write).is_ok() {
        await_end(stream, linger);
    }
}

/// Waits `linger` at most for the FIN of a client that has said that it closes first, then sends ours.
///
/// Without the wait our FIN might overtake the client's, and TIME-WAIT would be ours after all.
pub(crate) fn close_after_client(stream: &TcpStream, linger: Duration) {
    await_end(stream, linger);
    // A client that is gone completely needs no FIN.
    let _ = stream.shutdown(Shutdown::Write);
}

/// Reads and discards until the client's FIN, up to a limit of time and bytes.
fn await_end(mut stream: &TcpStream, linger: Duration) {
    let deadline = Instant::now() + linger;
    let mut discarded = 0;
    let mut buffer = vec![0; READ_SIZE];
    while discarded < LINGER_BYTES {
        let Ok(left) = left_until(deadline) else { return };
        if stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => discarded += bytes,
        }
    }
}
