//! What the benchmarks on the kernel observe besides captures.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `clock` | one clock for all of them |
//! | `header` | a packet of the emulator's log |
//! | `trace` | the kernel's TCP, from tracefs |

pub(crate) mod clock;
pub(crate) mod header;
pub(crate) mod trace;
