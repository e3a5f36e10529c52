//! Limits on a server's input, except those of chunks.

/// Maximum size of a response head in bytes (our choice; nginx and Apache send at most 32 KiB).
pub const RESPONSE_HEAD_LIMIT: usize = 64 * 1024;

/// Maximum number of interim responses before a final one (our choice; a server sends one 100 or
/// 103, or occasional 102s).
pub const INTERIM_LIMIT: u32 = 16;
