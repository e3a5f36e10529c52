//! Limits on a client's input, except those of chunks.

/// Maximum size of a request head in bytes (our choice; Apache accepts 8 KiB, nginx 32 KiB).
pub const REQUEST_HEAD_LIMIT: usize = 16 * 1024;

/// Maximum content in bytes that is discarded to reach the next request (our choice).
pub const REQUEST_BODY_LIMIT: u64 = 64 * 1024;
