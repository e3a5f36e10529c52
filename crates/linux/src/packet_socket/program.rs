//! Compiles a filter to classic BPF, which the kernel runs.
//!
//! For a socket that receives packets without link headers, offset 0 is the first byte of the IP
//! header. A load from beyond the end of a packet drops it, as in pcap's filters.

use std::net::IpAddr;

use super::{
    IPV4, IPV6, LOOPBACK, OUTGOING,
    filter::{Expression, Filter, Net, Protocol, Side, Version},
    part::{self, Part},
};

/// `struct sock_filter`, `linux/filter.h`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Instruction {
    pub code: u16,
    pub jump_true: u8,
    pub jump_false: u8,
    pub k: u32,
}

/// A program that drops every packet.
pub(super) const NOTHING: [Instruction; 1] = [Instruction::new(RETURN, 0)];

/// Compiles `filter` for IP packets in `part` of the interface with this index, or of all. Loopback
/// packets are captured on arrival only.
pub(super) fn compile(
    interface: Option<u32>,
    filter: Option<&Filter>,
    part: Part,
) -> Vec<Instruction> {
    let mut program = Program::default();
    let no = program.push(Instruction::new(RETURN, 0));
    let all = program.push(Instruction::new(RETURN, u32::MAX));
    let yes = match part.halvings {
        0 => all,
        _ => program.part(part, Exits { yes: all, no }),
    };
    let wanted =
        filter.map_or(yes, |filter| program.expression(&filter.expression, Exits { yes, no }));
    let looped = program.is(AUXILIARY_PACKET_TYPE, OUTGOING.into(), Exits { yes: no, no: wanted });
    let once = Exits { yes: looped, no: wanted };
    let mut here = program.is(AUXILIARY_HARDWARE_TYPE, LOOPBACK.into(), once);
    if let Some(index) = interface {
        here = program.is(AUXILIARY_INTERFACE, index, Exits { yes: here, no });
    }
    let v6 = program.equals(IPV6.into(), Exits { yes: here, no });
    program.equals(IPV4.into(), Exits { yes: here, no: v6 });
    program.push(Instruction::new(AUXILIARY_PROTOCOL.code, AUXILIARY_PROTOCOL.at));
    program.finish()
}

/// Instructions in reverse order: jumps go forward only, so a target is emitted before its jump.
#[derive(Debug, Default)]
struct Program {
    reversed: Vec<Instruction>,
}

/// An instruction, identified by the number of instructions after it.
#[derive(Clone, Copy, Debug)]
struct Label(usize);

/// Where to continue.
#[derive(Clone, Copy, Debug)]
struct Exits {
    yes: Label,
    no: Label,
}

/// What to load: instruction and offset.
#[derive(Clone, Copy, Debug)]
struct Load {
    code: u16,
    at: u32,
}

impl Program {
    fn expression(&mut self, expression: &Expression, exits: Exits) -> Label {
        let Exits { yes, no } = exits;
        match expression {
            Expression::Version(Version::V4) => self.by_version(yes, no),
            Expression::Version(Version::V6) => self.by_version(no, yes),
            Expression::Protocol(protocol) => self.protocol(*protocol, exits),
            Expression::Port(side, port) => self.port(*side, *port, exits),
            Expression::Net(side, net) => self.net(*side, *net, exits),
            Expression::Not(inner) => self.expression(inner, Exits { yes: no, no: yes }),
            Expression::And(one, other) => {
                let other = self.expression(other, exits);
                self.expression(one, Exits { yes: other, no })
            }
            Expression::Or(one, other) => {
                let other = self.expression(other, exits);
                self.expression(one, Exits { yes, no: other })
            }
        }
    }

    /// Branches on the IP version in the upper half of the first byte.
    fn by_version(&mut self, v4: Label, v6: Label) -> Label {
        self.masked_is(Load { code: LOAD_BYTE, at: 0 }, 0xf0, 0x40, Exits { yes: v4, no: v6 })
    }

    fn protocol(&mut self, protocol: Protocol, exits: Exits) -> Label {
        let v6 = self.is(V6_NEXT_HEADER, protocol as u32, exits);
        let v4 = self.is(V4_PROTOCOL, protocol as u32, exits);
        self.by_version(v4, v6)
    }

    /// TCP and UDP have their ports at the same offsets: source, then destination.
    fn port(&mut self, side: Side, port: u16, exits: Exits) -> Label {
        let v6 = self.either(side, exits, |program, second, exits| {
            let at = V6_HEADER + 2 * u32::from(second);
            program.is(Load { code: LOAD_HALF, at }, port.into(), exits)
        });
        let v6 = self.has_ports(V6_NEXT_HEADER, v6, exits.no);
        self.either(side, exits, |program, second, exits| {
            let at = 2 * u32::from(second);
            program.is(Load { code: LOAD_HALF_BEHIND_X, at }, port.into(), exits)
        });
        let v4 = self.push(Instruction::new(LOAD_X_HEADER_LENGTH, 0));
        let first = self.masked_is(V4_FRAGMENT, V4_OFFSET, 0, Exits { yes: v4, no: exits.no });
        let v4 = self.has_ports(V4_PROTOCOL, first, exits.no);
        self.by_version(v4, v6)
    }

    fn has_ports(&mut self, protocol: Load, yes: Label, no: Label) -> Label {
        let udp = self.equals(Protocol::Udp as u32, Exits { yes, no });
        self.equals(Protocol::Tcp as u32, Exits { yes, no: udp });
        self.push(Instruction::new(protocol.code, protocol.at))
    }

    fn net(&mut self, side: Side, net: Net, exits: Exits) -> Label {
        match net.address {
            IpAddr::V4(address) => {
                let mask = mask(net.prefix.into());
                let wanted = u32::from(address) & mask;
                let v4 = self.either(side, exits, |program, second, exits| {
                    let at = if second { 16 } else { 12 };
                    program.masked_is(Load { code: LOAD_WORD, at }, mask, wanted, exits)
                });
                self.by_version(v4, exits.no)
            }
            IpAddr::V6(address) => {
                let v6 = self.either(side, exits, |program, second, exits| {
                    let at = if second { 24 } else { 8 };
                    program.v6_net(at, address.into(), net.prefix, exits)
                });
                self.by_version(exits.no, v6)
            }
        }
    }

    /// Compares four words, emitted from the last to the first.
    fn v6_net(&mut self, at: u32, address: u128, prefix: u8, exits: Exits) -> Label {
        let mut matched = exits.yes;
        for word in (0..4_u32).rev() {
            let mask = mask(u32::from(prefix).saturating_sub(32 * word).min(32));
            let wanted = u32::try_from(address >> (96 - 32 * word) & 0xffff_ffff);
            let wanted = wanted.expect("32 bits are left") & mask;
            let load = Load { code: LOAD_WORD, at: at + 4 * word };
            matched = self.masked_is(load, mask, wanted, Exits { yes: matched, no: exits.no });
        }
        matched
    }

    /// Tests the rank of a connection as [`Part::holds`] does.
    fn part(&mut self, part: Part, exits: Exits) -> Label {
        let v6 = self.rank(part, exits, |program, second| {
            let at = if second { 24 } else { 8 };
            for word in (1..4).rev() {
                program.push(Instruction::new(ADD_X, 0));
                program.push(Instruction::new(LOAD_WORD, at + 4 * word));
                program.push(Instruction::new(X_FROM_A, 0));
                program.push(Instruction::new(MULTIPLY, part::PORT));
            }
            program.push(Instruction::new(LOAD_WORD, at));
            program.store_port(Load { code: LOAD_HALF, at: V6_HEADER + 2 * u32::from(second) });
        });
        let v6 = self.is_tcp_from(V6_NEXT_HEADER, Exits { yes: v6, no: exits.no });
        let v4 = self.rank(part, exits, |program, second| {
            let at = if second { 16 } else { 12 };
            program.push(Instruction::new(LOAD_WORD, at));
            let at = 2 * u32::from(second);
            program.store_port(Load { code: LOAD_HALF_BEHIND_X, at });
            program.push(Instruction::new(LOAD_X_HEADER_LENGTH, 0));
        });
        let whole = Exits { yes: v4, no: exits.no };
        let v4 = self.masked_is(V4_FRAGMENT, part::FRAGMENT.into(), 0, whole);
        let v4 = self.is_tcp_from(V4_PROTOCOL, Exits { yes: v4, no: exits.no });
        self.by_version(v4, v6)
    }

    fn is_tcp_from(&mut self, protocol: Load, exits: Exits) -> Label {
        self.is(protocol, Protocol::Tcp as u32, exits)
    }

    /// `load` stores the port of an end and leaves its address in A.
    fn rank(&mut self, part: Part, exits: Exits, load: impl Fn(&mut Self, bool)) -> Label {
        self.compare(
            JUMP_IF_GREATER_OR_EQUAL,
            part.bound(),
            Exits { yes: exits.no, no: exits.yes },
        );
        self.push(Instruction::new(MULTIPLY, part::ADDRESS));
        self.push(Instruction::new(ADD_X, 0));
        self.push(Instruction::new(LOAD_X_STORED, FIRST_END));
        self.mix(part);
        load(self, true);
        self.push(Instruction::new(STORE, FIRST_END));
        self.mix(part);
        load(self, false);
        Label(self.reversed.len() - 1)
    }

    fn store_port(&mut self, port: Load) {
        self.push(Instruction::new(STORE, PORT_OF_END));
        self.push(Instruction::new(MULTIPLY, part::PORT));
        self.push(Instruction::new(port.code, port.at));
    }

    /// From the last instruction to the first, as everywhere here.
    fn mix(&mut self, part: Part) {
        self.fold_right(part::SECOND_SHIFT);
        self.push(Instruction::new(MULTIPLY, part::MIXED));
        self.fold_right(part::FIRST_SHIFT);
        self.push(Instruction::new(ADD, part.seed));
        self.push(Instruction::new(ADD_X, 0));
        self.push(Instruction::new(LOAD_X_STORED, PORT_OF_END));
        self.push(Instruction::new(MULTIPLY, part::ADDRESS));
    }

    /// A ^= A >> bits.
    fn fold_right(&mut self, bits: u32) {
        self.push(Instruction::new(XOR_X, 0));
        self.push(Instruction::new(SHIFT_RIGHT, bits));
        self.push(Instruction::new(X_FROM_A, 0));
    }

    /// Tests the source (`false`), the destination (`true`), or both in turn.
    fn either(
        &mut self,
        side: Side,
        exits: Exits,
        mut test: impl FnMut(&mut Self, bool, Exits) -> Label,
    ) -> Label {
        match side {
            Side::Source => test(self, false, exits),
            Side::Destination => test(self, true, exits),
            Side::Either => {
                let second = test(self, true, exits);
                test(self, false, Exits { yes: exits.yes, no: second })
            }
        }
    }

    fn is(&mut self, load: Load, value: u32, exits: Exits) -> Label {
        self.equals(value, exits);
        self.push(Instruction::new(load.code, load.at))
    }

    fn masked_is(&mut self, load: Load, mask: u32, value: u32, exits: Exits) -> Label {
        self.equals(value, exits);
        self.push(Instruction::new(AND, mask));
        self.push(Instruction::new(load.code, load.at))
    }

    fn equals(&mut self, value: u32, exits: Exits) -> Label {
        self.compare(JUMP_IF_EQUAL, value, exits)
    }

    fn compare(&mut self, code: u16, value: u32, exits: Exits) -> Label {
        // Each call may emit an instruction before the jump, so the second moves the first target
        // one further.
        let no = self.near(exits.no, 1);
        let yes = self.near(exits.yes, 0);
        let [jump_true, jump_false] = [yes, no].map(|to| {
            u8::try_from(self.distance(to)).expect("what is too far away was brought near")
        });
        self.push(Instruction { code, jump_true, jump_false, k: value })
    }

    /// Returns a label within reach: conditional jumps reach 255 instructions, unconditional ones
    /// any number.
    fn near(&mut self, target: Label, to_come: usize) -> Label {
        let distance = self.distance(target);
        if distance + to_come <= usize::from(u8::MAX) {
            return target;
        }
        let distance = u32::try_from(distance).expect("a filter has few words");
        self.push(Instruction::new(JUMP, distance))
    }

    /// Number of instructions between the next instruction and `target`.
    const fn distance(&self, target: Label) -> usize {
        self.reversed.len() - 1 - target.0
    }

    fn push(&mut self, instruction: Instruction) -> Label {
        self.reversed.push(instruction);
        Label(self.reversed.len() - 1)
    }

    fn finish(mut self) -> Vec<Instruction> {
        self.reversed.reverse();
        self.reversed
    }
}

impl Instruction {
    /// An instruction without branches.
    const fn new(code: u16, k: u32) -> Self {
        Self { code, jump_true: 0, jump_false: 0, k }
    }
}

/// A mask of the first `bits` of 32 bits.
fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// `SKF_AD_OFF` plus an offset: the kernel's metadata of a packet.
const AUXILIARY_PROTOCOL: Load = Load { code: LOAD_WORD, at: 0xffff_f000 };
const AUXILIARY_PACKET_TYPE: Load = Load { code: LOAD_WORD, at: 0xffff_f004 };
const AUXILIARY_INTERFACE: Load = Load { code: LOAD_WORD, at: 0xffff_f008 };
const AUXILIARY_HARDWARE_TYPE: Load = Load { code: LOAD_WORD, at: 0xffff_f01c };

/// RFC 791, section 3.1.
const V4_PROTOCOL: Load = Load { code: LOAD_BYTE, at: 9 };
const V4_FRAGMENT: Load = Load { code: LOAD_HALF, at: 6 };
const V4_OFFSET: u32 = 0x1fff;
/// RFC 8200, section 3; extension headers are not skipped.
const V6_NEXT_HEADER: Load = Load { code: LOAD_BYTE, at: 6 };
const V6_HEADER: u32 = 40;

/// `linux/bpf_common.h`: class, size and mode of an instruction combined.
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_BEHIND_X: u16 = 0x48;
/// Sets X to four times the lower half of a byte: the length of an IPv4 header.
const LOAD_X_HEADER_LENGTH: u16 = 0xb1;
const AND: u16 = 0x54;
const ADD: u16 = 0x04;
const MULTIPLY: u16 = 0x24;
const SHIFT_RIGHT: u16 = 0x74;
const ADD_X: u16 = 0x0c;
const XOR_X: u16 = 0xac;
const X_FROM_A: u16 = 0x07;
/// Sets a word of the scratch memory to A, and X to such a word.
const STORE: u16 = 0x02;
const LOAD_X_STORED: u16 = 0x61;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Words of the scratch memory.
const FIRST_END: u32 = 0;
const PORT_OF_END: u32 = 1;

#[cfg(test)]
mod tests;
