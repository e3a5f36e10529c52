//! Numbers of bytes.

/// A number of bytes. (Not `Bytes`, which in this ecosystem is a buffer.)
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ByteCount(pub u64);
