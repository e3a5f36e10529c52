//! Below TCP: files, links, fragments, tunnels.

use super::{
    Attack,
    packets::{ACK, End, File, ipv4, tcp},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "udp-noise", make: udp },
    Attack { name: "ip-fragments", make: fragments },
    Attack { name: "ip-in-ip", make: tunnels },
    Attack { name: "vxlan", make: vxlan },
    Attack { name: "renamed-copies", make: copies },
    Attack { name: "empty-packets", make: empty },
    Attack { name: "vlan-stacks", make: vlans },
    Attack { name: "pcapng-interfaces", make: interfaces },
    Attack { name: "pcapng-options", make: options },
    Attack { name: "pcapng-sections", make: sections },
    Attack { name: "pcapng-unknown-blocks", make: unknown_blocks },
    Attack { name: "pcapng-statistics-between", make: |most| between(most, Between::Statistics) },
    Attack { name: "pcapng-custom-between", make: |most| between(most, Between::Custom) },
    Attack { name: "pcapng-long-between", make: |most| between(most, Between::Long) },
    Attack { name: "pcapng-sections-between", make: |most| between(most, Between::Section) },
    Attack { name: "pcapng-orders-between", make: |most| between(most, Between::OtherOrder) },
    Attack { name: "pcapng-gaps-between", make: |most| between(most, Between::Gap) },
];

fn udp(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(500) {
        let [a, b, ..] = number.to_be_bytes();
        file.ip([number, 1], 17, 0, &[a, b, 1, 187, 0, 9, 0, 0, 0x40]);
        number += 1;
    }
    file.into_bytes()
}

fn segment(number: u32, payload: &[u8]) -> Vec<u8> {
    let client = End { host: 1, port: u16::try_from(number % 60_000).expect(FITS) };
    tcp([client, End { host: 2, port: 80 }], [number, 0], ACK, &[], payload)
}

fn fragments(most: usize) -> Vec<u8> {
    const MORE: u16 = 0x2000;
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(500) {
        file.ip([number, 2], 6, MORE, &segment(number, b"a"));
        number += 1;
    }
    file.into_bytes()
}

/// IP in IP, 40 deep.
fn tunnels(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(5000) {
        let mut packet = ipv4([number, 2], 6, 0, &segment(number, b"a"));
        for _ in 0..40 {
            packet = ipv4([number, 2], 4, 0, &packet);
        }
        file.packet(&packet);
        number += 1;
    }
    file.into_bytes()
}

fn vxlan(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(5000) {
        let mut inner = vec![0; 12];
        inner.extend([8, 0]);
        inner.extend(ipv4([number, 2], 6, 0, &segment(number, b"a")));
        let length = u16::try_from(16 + inner.len()).expect(FITS).to_be_bytes();
        let mut datagram = vec![1, 2, 0x12, 0xb5, length[0], length[1], 0, 0];
        datagram.extend([8, 0, 0, 0, 0, 0, 1, 0]);
        datagram.extend(inner);
        file.ip([number, 2], 17, 0, &datagram);
        number += 1;
    }
    file.into_bytes()
}

/// Each segment twice, the second time with another source, as behind NAT.
fn copies(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(500) {
        let server = End { host: 2, port: 80 };
        let port = u16::try_from(number % 60_000).expect(FITS);
        for host in [(10 << 24) + (number / 60_000), (11 << 24) + (number / 60_000)] {
            let client = End { host, port };
            file.segment([client, server], [number, number], ACK, &[], b"abcdefgh");
        }
        number += 1;
    }
    file.into_bytes()
}

fn empty(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    while file.has_room(500) {
        file.packet(&[]);
    }
    file.into_bytes()
}

/// Ethernet with as many VLAN tags as fit.
fn vlans(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(70_000) {
        let mut packet = vec![0; 12];
        packet.extend([0x81, 0, 0, 1].repeat(10_000));
        packet.extend([8, 0]);
        packet.extend(ipv4([number, 2], 6, 0, &segment(number, b"a")));
        file.packet(&packet);
        number += 1;
    }
    let mut bytes = file.into_bytes();
    bytes[20] = ETHERNET;
    bytes
}

/// What stands between any two packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Between {
    Statistics,
    Custom,
    /// A custom block of 60 kB.
    Long,
    /// Another section with its interface.
    Section,
    /// The same in the other byte order.
    OtherOrder,
    /// Statistics, and the packets are requests behind holes.
    Gap,
}

fn between(most: usize, what: Between) -> Vec<u8> {
    let mut out = Vec::new();
    section(&mut out);
    block(1, RAW_INTERFACE, &mut out);
    let mut number = 0_u32;
    let mut in_other_order = false;
    while out.len() + 70_000 < most {
        let payload: &[u8] = if what == Between::Gap { b"GET /" } else { b"" };
        let client = End { host: 1, port: 1024 + u16::try_from(number % 50).expect(FITS) };
        let server = End { host: 2, port: 80 };
        let segment = tcp([client, server], [number * 10, 0], ACK, &[], payload);
        let packet = ipv4([1, 2], 6, 0, &segment);
        let length = u32::try_from(packet.len()).expect(FITS);
        let words = [0, 0, number * 100, length, length];
        let in_order = |word: u32| match in_other_order {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        };
        let mut body: Vec<u8> = words.into_iter().flat_map(in_order).collect();
        body.extend(packet);
        body.resize(body.len().next_multiple_of(4), 0);
        let start = out.len();
        block(6, &body, &mut out);
        if in_other_order {
            swap_ends(&mut out[start..]);
        }
        match what {
            Between::Statistics | Between::Gap => block(5, &[0; 12], &mut out),
            Between::Custom => block(0x0bad, b"abcd", &mut out),
            Between::Long => block(0x0bad, &[0; 60_000], &mut out),
            Between::Section => {
                section(&mut out);
                block(1, RAW_INTERFACE, &mut out);
            }
            Between::OtherOrder => {
                in_other_order = !in_other_order;
                let start = out.len();
                section(&mut out);
                if in_other_order {
                    swap_ends(&mut out[start..]);
                    out[start + 8..start + 12].reverse();
                    out[start + 12..start + 14].reverse();
                }
                let start = out.len();
                block(1, RAW_INTERFACE, &mut out);
                if in_other_order {
                    swap_ends(&mut out[start..]);
                    out[start + 8..start + 10].reverse();
                }
            }
        }
        number += 1;
    }
    out
}

/// Turns type and lengths of a block into the other byte order.
fn swap_ends(block: &mut [u8]) {
    let end = block.len() - 4;
    for start in [0, 4, end] {
        block[start..start + 4].reverse();
    }
}

pub(super) const RAW_INTERFACE: &[u8] = &[101, 0, 0, 0, 0, 0, 0, 0];

pub(super) fn block(kind: u32, body: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(12 + body.len()).expect(FITS);
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.extend(length.to_le_bytes());
}

pub(super) fn section(out: &mut Vec<u8>) {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body, out);
}

const INTERFACE: &[u8] = &[ETHERNET, 0, 0, 0, 0, 0, 4, 0];

fn interfaces(most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    section(&mut out);
    let mut number = 0_u32;
    while out.len() + 100 < most {
        let mut body = INTERFACE.to_vec();
        body.extend([2, 0, 4, 0]);
        body.extend(number.to_le_bytes());
        block(1, &body, &mut out);
        number += 1;
    }
    out
}

/// Packets with options of 60 kB.
fn options(most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    section(&mut out);
    block(1, INTERFACE, &mut out);
    while out.len() + 70_000 < most {
        let mut body = [0_u8; 20].to_vec();
        body.extend([1, 0, 0, 0].repeat(15_000));
        block(6, &body, &mut out);
    }
    out
}

fn sections(most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while out.len() + 100 < most {
        section(&mut out);
        block(1, INTERFACE, &mut out);
    }
    out
}

fn unknown_blocks(most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    section(&mut out);
    while out.len() + 100 < most {
        block(0x0bad, &[], &mut out);
    }
    out
}

const ETHERNET: u8 = 1;

const FITS: &str = "numbers here are small";
