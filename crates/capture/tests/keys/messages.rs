//! Messages of a WebSocket under TLS, of which each is written in two pieces: two records, and the second may be held.

use std::{io::Cursor, net::SocketAddr, sync::Arc, time::Duration};

use ackwise_capture::{
    PcapWriter, SegmentWriter, StreamContents, WHOLE_FRAMES,
    analysis::{Analyser, MessageCounts},
    decode::decode,
    keys::KeyLog,
    read::Source,
};
use ackwise_cause::{
    Cause,
    Direction::{ToClient, ToServer},
};
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber, Transmit};
use rustls::{
    crypto::ring::cipher_suite::{
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS13_AES_128_GCM_SHA256,
    },
    version::{TLS12, TLS13},
};

use crate::peers::{Peers, Recorded, Said};

const MESSAGES: usize = 8;

fn said() -> Vec<Said> {
    let asks = b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let answers = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let header = (ToServer, vec![0x81, 0x80 | 100, 1, 2, 3, 4]);
    let payload = (ToServer, vec![b'a'; 100]);
    let mut said = vec![(ToServer, asks.to_vec()), (ToClient, answers.to_vec())];
    for _ in 0..MESSAGES {
        said.extend([header.clone(), payload.clone()]);
    }
    said
}

/// A connection in which every header is acknowledged `acked` after it left, and its payload leaves 40.1 ms behind it.
fn capture(recorded: &Recorded, acked: Duration) -> Vec<u8> {
    let ends: [SocketAddr; 2] = ["10.0.0.2:50000", "10.0.0.1:443"].map(|it| it.parse().unwrap());
    let mut streams = [StreamContents::default(), StreamContents::default()];
    let mut file = SegmentWriter::new(PcapWriter::new(Vec::new(), WHOLE_FRAMES).unwrap());
    let mut put = |from: usize, segment, offset, stream: &StreamContents, at: Duration| {
        let transmit = Transmit { segment, offset, retransmission: false, ack_reason: None };
        let way = [ends[from], ends[1 - from]];
        file.write(way, &transmit, stream, Instant::EPOCH + at).unwrap();
    };
    let none = StreamContents::default();
    let flags = Flags { syn: true, ..Flags::default() };
    let syn = Segment { seq: SeqNumber(0), flags, ..Segment::default() };
    let mut next = [SeqNumber(1); 2];
    let plain = |[seq, ack]: [SeqNumber; 2]| {
        let flags = Flags { psh: true, ..Flags::default() };
        Segment { seq, ack: Some(ack), flags, window: 60_000, ..Segment::default() }
    };
    let bare = |it| Segment { flags: Flags::default(), ..plain(it) };
    put(0, syn, 0, &none, Duration::ZERO);
    put(1, Segment { ack: Some(next[0]), ..syn }, 0, &none, Duration::from_micros(100));
    put(0, bare(next), 0, &none, Duration::from_micros(110));
    // What comes last are the messages, and both ends' close_notify.
    let first = recorded.wire.len() - 2 - 2 * MESSAGES;
    let mut now = Duration::from_millis(1);
    for (number, (direction, start, bytes)) in recorded.wire.iter().enumerate() {
        let from = *direction as usize;
        streams[from].insert(*start, bytes);
        let piece = number.checked_sub(first).filter(|it| *it < 2 * MESSAGES);
        now += match piece {
            Some(piece) if piece % 2 == 0 => Duration::from_millis(1_000),
            Some(_) => Duration::from_micros(40_100),
            None => Duration::from_millis(1),
        };
        let len = u32::try_from(bytes.len()).unwrap();
        let own = [next[from], next[1 - from]];
        put(from, Segment { len, ..plain(own) }, *start, &streams[from], now);
        next[from] = next[from] + len;
        let is_header = piece.is_some_and(|piece| piece % 2 == 0);
        let later = if is_header { acked } else { Duration::from_micros(20) };
        put(1 - from, bare([next[1 - from], next[from]]), 0, &none, now + later);
    }
    file.into_file().finish().unwrap()
}

fn counts(recorded: &Recorded, acked: Duration) -> MessageCounts {
    let keys = Arc::new(KeyLog::default());
    keys.add_text(recorded.keys.as_bytes());
    let mut analyser = Analyser::default().with_keys(&keys);
    let mut source = Source::of("a recording", Cursor::new(capture(recorded, acked)));
    while let Some(frame) = source.next().unwrap() {
        analyser.handle(&decode(&frame).unwrap());
    }
    let analysis = analyser.finish();
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!("no WebSocket") };
    tunnel.messages.as_ref().unwrap()[ToServer as usize].clone()
}

#[test]
fn a_payload_that_waits_for_the_late_ack_of_its_header_is_held_under_tls_too() {
    for peers in [
        Peers::new(&TLS12, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        Peers::new(&TLS13, TLS13_AES_128_GCM_SHA256),
    ] {
        let recorded = peers.talk(&[], &said(), 1_448, None);
        let late = counts(&recorded, Duration::from_millis(40));
        assert_eq!(late.messages, MESSAGES as u64);
        let [held] = late.held[..] else { panic!("{late:?}") };
        assert_eq!((held.cause, held.messages), (Cause::NagleDelayedAck, MESSAGES as u64));
        // The look-alike: with the ACK at once, the program wrote the payload late.
        let soon = counts(&recorded, Duration::from_micros(20));
        assert_eq!((soon.messages, soon.held.len()), (MESSAGES as u64, 0), "{soon:?}");
    }
}
