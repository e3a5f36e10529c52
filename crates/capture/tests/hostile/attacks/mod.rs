//! Captures made to cost much: each of few bytes, or of any number of them.
//!
//! They are shared by the tests of this crate, the seeds of the fuzz targets, and `cargo xtask bench
//! hostile`.

mod http1;
mod http2;
mod packets;
pub(crate) mod products;
mod tcp;
mod tls;
mod wrapped;

/// A way to make a capture slow to read, or large in memory.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    /// Its name in tables, and of its file.
    pub(crate) name: &'static str,
    /// The file, whose size is about the given limit at most.
    pub(crate) make: fn(usize) -> Vec<u8>,
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Attack> {
    [tcp::ALL, http1::ALL, http2::ALL, wrapped::ALL, tls::ALL, products::ALL]
        .into_iter()
        .flatten()
        .copied()
}
