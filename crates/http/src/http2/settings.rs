//! SETTINGS (RFC 9113, section 6.5).

use alloc::vec::Vec;

/// Parameters of SETTINGS, by their numbers: the dynamic table of field blocks, in bytes,
pub const HEADER_TABLE_SIZE: u16 = 1;
/// whether the server may push,
pub const ENABLE_PUSH: u16 = 2;
/// streams that the peer may have open,
pub const MAX_CONCURRENT_STREAMS: u16 = 3;
/// bytes of DATA that the peer may send on a stream at first,
pub const INITIAL_WINDOW_SIZE: u16 = 4;
/// bytes of a payload.
pub const MAX_FRAME_SIZE: u16 = 5;

/// Window of a stream, and of the connection, until a peer says another (section 6.9.2).
pub const DEFAULT_WINDOW: u32 = 65_535;

/// The largest window (section 6.9.1).
pub const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// The parameters that `payload` sets, in their order; what does not fill six bytes is left out.
pub fn read(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload.chunks_exact(6).map(|parameter| {
        let [a, b, value @ ..] = *parameter.first_chunk::<6>().expect("chunks of six bytes");
        (u16::from_be_bytes([a, b]), u32::from_be_bytes(value))
    })
}

/// The payload that sets `parameters`.
#[must_use]
pub fn write(parameters: &[(u16, u32)]) -> Vec<u8> {
    let bytes =
        |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    parameters.iter().flat_map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let parameters = [(INITIAL_WINDOW_SIZE, LARGEST_WINDOW), (0x99, 0)];
        let mut payload = write(&parameters);
        payload.push(1);
        assert!(read(&payload).eq(parameters));
    }
}
