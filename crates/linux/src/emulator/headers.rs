//! What a network reads of a packet's headers.

use std::net::Ipv4Addr;

/// Source and destination of an IPv4 packet.
pub(super) fn addresses(packet: &[u8]) -> Option<[Ipv4Addr; 2]> {
    if packet.first()? >> 4 != 4 {
        return None;
    }
    let address = |at: usize| {
        let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(bytes))
    };
    Some([address(12)?, address(16)?])
}

/// Bytes of data of a TCP segment.
pub(super) fn payload(packet: &[u8]) -> Option<usize> {
    let ip = usize::from(packet.first()? & 15) * 4;
    let tcp = usize::from(packet.get(ip + 12)? >> 4) * 4;
    (packet.get(9) == Some(&TCP)).then(|| packet.len().saturating_sub(ip + tcp))
}

/// IPv4's protocol number of TCP.
const TCP: u8 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_a_segment_say_whose_it_is_and_how_long() {
        let mut packet = vec![0_u8; 52];
        packet[0] = 0x45;
        packet[9] = TCP;
        packet[12..16].copy_from_slice(&[198, 18, 0, 1]);
        packet[16..20].copy_from_slice(&[198, 18, 0, 2]);
        packet[32] = 7 << 4;
        let hosts = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
        assert_eq!(addresses(&packet), Some(hosts));
        assert_eq!(payload(&packet), Some(4), "40 bytes of headers, 8 of options");
        packet[9] = 17;
        assert_eq!(payload(&packet), None);
        packet[0] = 0x60;
        assert_eq!(addresses(&packet), None);
        assert_eq!(addresses(&[]), None);
    }
}
