//! Answers echo requests (ping).

/// Turns the echo request in `packet` into its reply. Any other packet is left unchanged; returns
/// `false`.
///
/// RFC 792 and RFC 4443, section 4.2: addresses swapped, type changed, the rest unchanged.
pub(super) fn answer(packet: &mut [u8]) -> bool {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => answer_v4(packet),
        Some(6) => answer_v6(packet),
        _ => false,
    }
}

fn answer_v4(packet: &mut [u8]) -> bool {
    let header = usize::from(packet[0] & 0x0f) * 4;
    // A fragment has no ICMP header, or not the whole message: not answered.
    let whole = packet.get(6..8).is_some_and(|field| field[0] & 0x3f == 0 && field[1] == 0);
    let request = packet.get(9) == Some(&ICMP)
        && packet.get(header..header + 8).is_some_and(|icmp| icmp[..2] == [8, 0]);
    if header < 20 || !whole || !request {
        return false;
    }
    swap(packet, 12, 4);
    packet[header] = 0;
    adjust_checksum(packet, header + 2, 0x0800, 0x0000);
    true
}

fn answer_v6(packet: &mut [u8]) -> bool {
    let request = packet.get(6) == Some(&ICMPV6)
        && packet.get(40..48).is_some_and(|icmp| icmp[..2] == [128, 0]);
    if !request {
        return false;
    }
    swap(packet, 8, 16);
    packet[40] = 129;
    // Swapping the addresses does not change the pseudo-header's sum.
    adjust_checksum(packet, 42, 0x8000, 0x8100);
    true
}

/// Swaps two adjacent fields of `len` bytes, the first one at `at`.
fn swap(packet: &mut [u8], at: usize, len: usize) {
    let (source, destination) = packet[at..at + 2 * len].split_at_mut(len);
    source.swap_with_slice(destination);
}

/// RFC 1624, section 3: "HC' = ~(~HC + ~m + m')" for a field that changes from `old` to `new`.
fn adjust_checksum(packet: &mut [u8], at: usize, old: u16, new: u16) {
    let checksum = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let checksum = !u16::try_from(folded).expect("carries were folded in");
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

#[cfg(test)]
mod tests {
    use super::*;

    /// The Internet checksum of `bytes`; zero if they include a correct checksum.
    fn checksum(bytes: &[u8]) -> u16 {
        let sum: u32 = bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap()
    }

    fn request_v4() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, ICMP, 0, 0];
        packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        packet.extend([8, 0, 0, 0, 0x12, 0x34, 0, 1, b'p', b'i', b'n', b'g']);
        let sum = checksum(&packet[20..]).to_be_bytes();
        packet[22..24].copy_from_slice(&sum);
        packet
    }

    #[test]
    fn a_request_is_returned_with_a_correct_checksum() {
        let mut packet = request_v4();
        assert!(answer(&mut packet));
        assert_eq!(packet[12..20], [198, 18, 0, 2, 198, 18, 0, 1]);
        assert_eq!((packet[20], &packet[28..]), (0, &b"ping"[..]));
        assert_eq!(checksum(&packet[20..]), 0);
    }

    #[test]
    fn nothing_else_is_touched() {
        for len in 0..28 {
            assert!(!answer(&mut request_v4()[..len].to_vec()), "{len} bytes");
        }
        for (at, value) in [(20, 0), (9, 6), (6, 0x20), (0, 0x40), (0, 0x65)] {
            let mut packet = request_v4();
            packet[at] = value;
            let before = packet.clone();
            assert!(!answer(&mut packet), "byte {at} is {value}");
            assert_eq!(packet, before);
        }
    }
}
