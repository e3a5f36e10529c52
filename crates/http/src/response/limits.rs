//! Every bound that a hostile server meets, those of chunks apart.

/// Most bytes that the head of a response may have; nginx and Apache send at most 32 KiB.
pub const RESPONSE_HEAD_LIMIT: usize = 64 * 1024;

/// Most interim responses before a final one. A server sends one 100 or 103, or a 102 now and then.
pub const INTERIM_LIMIT: u32 = 16;
