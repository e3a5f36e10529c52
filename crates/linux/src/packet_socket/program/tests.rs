//! Filters against packets, run by an interpreter for classic BPF as described in `linux/filter.h`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

/// A packet with the kernel's metadata.
struct Passing {
    bytes: Vec<u8>,
    protocol: u16,
    interface: u32,
    outgoing: bool,
    loopback: bool,
}

impl Passing {
    /// Whether the program accepts the packet.
    fn passes(&self, program: &[Instruction]) -> bool {
        let (mut at, mut a, mut x, mut stored) = (0, 0_u32, 0_u32, [0_u32; 16]);
        loop {
            let Instruction { code, jump_true, jump_false, k } = program[at];
            at += 1;
            let loaded = match code {
                LOAD_WORD => self.load(k, 4),
                LOAD_HALF => self.load(k, 2),
                LOAD_BYTE => self.load(k, 1),
                LOAD_HALF_BEHIND_X => self.load(x + k, 2),
                _ => Some(a),
            };
            // The kernel drops packets too short for a load.
            let Some(loaded) = loaded else { return false };
            a = loaded;
            match code {
                LOAD_X_HEADER_LENGTH => x = 4 * (u32::from(self.bytes[0]) & 0xf),
                LOAD_X_STORED => x = stored[k as usize],
                STORE => stored[k as usize] = a,
                X_FROM_A => x = a,
                AND => a &= k,
                ADD => a = a.wrapping_add(k),
                MULTIPLY => a = a.wrapping_mul(k),
                SHIFT_RIGHT => a >>= k,
                ADD_X => a = a.wrapping_add(x),
                XOR_X => a ^= x,
                JUMP_IF_GREATER_OR_EQUAL => {
                    at += usize::from(if a >= k { jump_true } else { jump_false });
                }
                JUMP => at += k as usize,
                JUMP_IF_EQUAL => at += usize::from(if a == k { jump_true } else { jump_false }),
                RETURN => return k != 0,
                LOAD_WORD | LOAD_HALF | LOAD_BYTE | LOAD_HALF_BEHIND_X => {}
                _ => panic!("instruction {code:#x}"),
            }
        }
    }

    fn load(&self, at: u32, len: usize) -> Option<u32> {
        match at {
            0xffff_f000 => return Some(self.protocol.into()),
            0xffff_f004 => return Some(if self.outgoing { OUTGOING.into() } else { 0 }),
            0xffff_f008 => return Some(self.interface),
            0xffff_f01c => return Some(if self.loopback { LOOPBACK.into() } else { 1 }),
            _ => {}
        }
        let bytes = self.bytes.get(at as usize..at as usize + len)?;
        Some(bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }
}

/// From port 5000 of 10.1.2.3 to port 80 of 10.9.0.7, with an IP option before the ports.
fn v4(protocol: u8) -> Passing {
    let mut bytes = vec![0; 24];
    (bytes[0], bytes[9]) = (0x46, protocol);
    bytes[12..16].copy_from_slice(&Ipv4Addr::new(10, 1, 2, 3).octets());
    bytes[16..20].copy_from_slice(&Ipv4Addr::new(10, 9, 0, 7).octets());
    bytes.extend([0x13, 0x88, 0, 80]);
    Passing { bytes, protocol: IPV4, interface: 2, outgoing: false, loopback: false }
}

/// From port 5000 of fd00:1::3 to port 53 of fd00:2::7.
fn v6(protocol: u8) -> Passing {
    let mut bytes = vec![0; 8];
    (bytes[0], bytes[6]) = (0x60, protocol);
    bytes.extend(Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 3).octets());
    bytes.extend(Ipv6Addr::new(0xfd00, 2, 0, 0, 0, 0, 0, 7).octets());
    bytes.extend([0x13, 0x88, 0, 53]);
    Passing { bytes, protocol: IPV6, interface: 2, outgoing: false, loopback: false }
}

const TCP: u8 = Protocol::Tcp as u8;
const UDP: u8 = Protocol::Udp as u8;

fn filtered(text: &str) -> Vec<Instruction> {
    compile(None, Some(&text.parse().unwrap()), Part::everything(0))
}

#[test]
fn filters_let_pass_what_they_say() {
    let mut later = v4(TCP);
    later.bytes[7] = 1;
    let packets = [v4(TCP), v4(UDP), v4(1), v6(TCP), v6(UDP), later];
    for (text, expected) in [
        ("ip", [true, true, true, false, false, true]),
        ("ip6", [false, false, false, true, true, false]),
        ("tcp", [true, false, false, true, false, true]),
        ("udp", [false, true, false, false, true, false]),
        ("port 80", [true, true, false, false, false, false]),
        ("port 5000", [true, true, false, true, true, false]),
        ("dst port 5000", [false; 6]),
        ("src port 5000", [true, true, false, true, true, false]),
        ("udp dst port 53", [false, false, false, false, true, false]),
        ("tcp port 53", [false, false, false, true, false, false]),
        ("not tcp", [false, true, true, false, true, false]),
        ("host 10.9.0.7", [true, true, true, false, false, true]),
        ("src host 10.9.0.7", [false; 6]),
        ("net 10.1.0.0/16 and udp", [false, true, false, false, false, false]),
        ("net 0.0.0.0/0", [true, true, true, false, false, true]),
        ("host fd00:1::3", [false, false, false, true, true, false]),
        ("dst net fd00:2::/33 and not udp", [false, false, false, true, false, false]),
        ("net fd00:3::/32", [false; 6]),
        ("tcp port 53 or udp port 80", [false, true, false, true, false, false]),
        ("not (ip or port 53)", [false; 6]),
    ] {
        let program = filtered(text);
        assert_eq!(packets.each_ref().map(|it| it.passes(&program)), expected, "{text}");
    }
}

#[test]
fn jumps_of_the_longest_filters_arrive() {
    let hosts = ["host fd00::1"; 9].join(" or ");
    for last in ["fd00:1::3", "fd00:2::7"] {
        let program = filtered(&format!("{hosts} or host {last}"));
        assert!(program.len() > 255, "{}", program.len());
        assert!(v6(TCP).passes(&program));
        assert!(!v4(TCP).passes(&program));
    }
    assert!(!v6(TCP).passes(&filtered(&format!("{hosts} or host fd00::2"))));
    assert!(v4(TCP).passes(&filtered(&format!("not ({hosts} or host fd00::2)"))));
}

#[test]
fn only_ip_of_the_interface_passes_and_what_loops_back_once() {
    let program = compile(Some(2), None, Part::everything(0));
    assert!(v4(TCP).passes(&program) && v6(TCP).passes(&program));
    assert!(Passing { outgoing: true, ..v4(TCP) }.passes(&program));
    assert!(!Passing { interface: 3, ..v4(TCP) }.passes(&program));
    assert!(!Passing { protocol: 0x0806, ..v4(TCP) }.passes(&program), "ARP");
    assert!(Passing { loopback: true, ..v4(TCP) }.passes(&program));
    assert!(!Passing { loopback: true, outgoing: true, ..v4(TCP) }.passes(&program));
    assert!(!v4(TCP).passes(&NOTHING));
}

/// The packet in the other direction.
fn answer(mut packet: Passing) -> Passing {
    let (from, to, length, ports) =
        if packet.protocol == IPV4 { (12, 16, 4, 24) } else { (8, 24, 16, 40) };
    let source = packet.bytes[from..from + length].to_vec();
    packet.bytes.copy_within(to..to + length, from);
    packet.bytes[to..to + length].copy_from_slice(&source);
    packet.bytes[ports..ports + 4].rotate_left(2);
    packet
}

#[test]
fn the_kernel_chooses_the_connections_that_the_part_holds() {
    let mut kept = [0_u32; 2];
    for number in 0..4_000_u16 {
        for (version, make) in [v4, v6].into_iter().enumerate() {
            let part = Part::everything(u32::from(number) << 20 | 0x5_4321).halved(2);
            let program = compile(None, None, part);
            let packet = || {
                let mut packet = make(TCP);
                let at = packet.bytes.len() - 4;
                packet.bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
                packet.bytes[13] ^= number.to_be_bytes()[1];
                packet
            };
            let passes = packet().passes(&program);
            assert_eq!(passes, part.holds(&packet().bytes), "{number}, {version}");
            assert_eq!(passes, answer(packet()).passes(&program), "{number}, {version}");
            assert_eq!(passes, part.holds(&answer(packet()).bytes), "{number}, {version}");
            kept[version] += u32::from(passes);
        }
    }
    // A quarter of 4,000, give or take five standard deviations.
    assert!(kept.iter().all(|it| (860..1_140).contains(it)), "{kept:?}");
}

#[test]
fn parts_have_no_fragments_and_nothing_but_tcp() {
    let mut first = v4(TCP);
    first.bytes[6] = 0x20;
    let mut later = v4(TCP);
    later.bytes[7] = 1;
    let tcp_passes = |seed| v4(TCP).passes(&compile(None, None, Part::everything(seed).halved(1)));
    let seed = (0..64).find(|&seed| tcp_passes(seed)).expect("half of all seeds");
    let part = Part::everything(seed).halved(1);
    for filter in [None, Some("port 80".parse().unwrap())] {
        let program = compile(None, filter.as_ref(), part);
        assert!(v4(TCP).passes(&program));
        assert_eq!([&first, &later, &v4(UDP), &v6(UDP)].map(|it| it.passes(&program)), [false; 4]);
        assert!(!Passing { bytes: v4(TCP).bytes[..26].to_vec(), ..v4(TCP) }.passes(&program));
    }
    let other = "port 81".parse().unwrap();
    assert!(!v4(TCP).passes(&compile(None, Some(&other), part)));
}
