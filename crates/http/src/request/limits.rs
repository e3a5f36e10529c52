//! Every bound that a hostile client meets, those of chunks apart.

/// Most bytes that the head of a request may have; Apache reads 8 KiB, nginx 32 KiB.
pub const REQUEST_HEAD_LIMIT: usize = 16 * 1024;

/// Most bytes of content that are discarded for the sake of the next request.
pub const REQUEST_BODY_LIMIT: u64 = 64 * 1024;
