//! Closes a connection without destroying data in flight.
//!
//! RFC 9112, section 9.6: "if the server receives additional data from the client on a fully closed
//! connection […] the server's TCP stack will send a reset packet to the client; unfortunately, the
//! reset packet might erase the client's unacknowledged input buffers before they can be read". The
//! server therefore closes its half and keeps reading, for a bounded time and a bounded number of
//! bytes.

use std::{
    io::Read,
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use crate::{
    limits::{LINGER_BYTES, READ_SIZE},
    send::left_until,
};

/// Sends a FIN, then waits at most `linger` for the client's.
///
/// Errors end the wait early and are ignored.
pub(crate) fn close(stream: &TcpStream, linger: Duration) {
    if stream.shutdown(Shutdown::Write).is_ok() {
        await_end(stream, linger);
    }
}

/// Waits at most `linger` for the FIN of a client that sent CLIENT_CLOSE, then sends the server's
/// FIN.
///
/// Without the wait the server's FIN might overtake the client's and leave TIME-WAIT at the server.
pub(crate) fn close_after_client(stream: &TcpStream, linger: Duration) {
    await_end(stream, linger);
    // A client that has fully closed needs no FIN.
    let _ = stream.shutdown(Shutdown::Write);
}

/// Reads and discards until the client's FIN, up to the limits of time and bytes.
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
