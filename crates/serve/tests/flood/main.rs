//! The server on our own TCP serves its clients while others attack it.
//!
//! | file | attack |
//! | --- | --- |
//! | `spoofed` | segments from addresses that are not the sender's |
//! | `peers` | connections of real sockets that hold places, at the server or in the stack's table |

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;
mod peers;
mod spoofed;
