//! Reads what the tests have written, with somebody else's code.

use pcap_parser::{LegacyPcapSlice, PcapBlockOwned};

#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Frame {
    pub(crate) nanos: u64,
    pub(crate) length: u32,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn frames(file: &[u8]) -> Vec<Frame> {
    let frames = LegacyPcapSlice::from_slice(file).expect("a pcap file");
    assert!(frames.header.is_nanosecond_precision());
    frames
        .map(|frame| match frame {
            Ok(PcapBlockOwned::Legacy(frame)) => Frame {
                nanos: u64::from(frame.ts_sec) * 1_000_000_000 + u64::from(frame.ts_usec),
                length: frame.origlen,
                bytes: frame.data.to_vec(),
            },
            _ => panic!("a frame is cut off"),
        })
        .collect()
}
