//! A capture of one connection, written as it was seen: one packet a line.
//!
//! ```text
//! 20.3  < 0:1448 ack 57 win 65535 psh
//! ```
//!
//! Data of more than a segment is a burst of segments 10 µs apart, with PSH on the last.
//!
//! Milliseconds, `>` to the server or `<` to the client, the data by its positions in the stream, what
//! is acknowledged of the other stream, the receive window in bytes. `syn`, `fin`, `rst` and `psh` are
//! flags; `scale` is followed by a SYN's window scale, `ts` by the sender's timestamp, `echo` by the one
//! that it echoes, `sack` by a range of the other stream; `ip` by the identification of its IPv4 header; `old` is a
//! SYN that does not offer SACK, `anew` one that begins another connection between the
//! same ports, whose streams are the same. Streams hold messages and are as long as they need
//! to be.

use std::{net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::Seen,
};
use ackwise_tcp::{Flags, Instant, Options, Segment, SeqNumber, Timestamps, WindowShift};

/// What both ends send.
pub(crate) struct Streams {
    client: Vec<u8>,
    server: Vec<u8>,
    /// Bytes of each packet's data that are captured.
    snap: usize,
}

/// Bytes of a request, and of a response's head.
pub(crate) const REQUEST: usize = 100;
pub(crate) const HEAD: usize = 100;

impl Streams {
    /// Requests of [`REQUEST`] bytes, each answered by a head of [`HEAD`] bytes and a body.
    pub(crate) fn of_bodies(bodies: &[usize]) -> Self {
        let mut streams = Self { client: Vec::new(), server: Vec::new(), snap: usize::MAX };
        for &body in bodies {
            streams.client.extend(padded("GET / HTTP/1.1\r\nX: ", REQUEST));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\nX: ");
            streams.server.extend(padded(&head, HEAD));
            streams.server.extend(vec![b'.'; body]);
        }
        streams
    }

    /// Any messages.
    pub(crate) fn of(client: &[u8], server: &[u8]) -> Self {
        Self { client: client.to_vec(), server: server.to_vec(), snap: usize::MAX }
    }

    /// The client's and the server's.
    pub(crate) fn both(&self) -> [&[u8]; 2] {
        [&self.client, &self.server]
    }

    /// An upload of `body` bytes, answered by a head alone.
    pub(crate) fn of_upload(body: usize) -> Self {
        let head = format!("PUT / HTTP/1.1\r\nContent-Length: {body}\r\nX: ");
        let mut client = padded(&head, REQUEST);
        client.extend(vec![b'.'; body]);
        let server = padded("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", HEAD);
        Self { client, server, snap: usize::MAX }
    }

    /// The same, with the first `snap` bytes of each packet's data.
    pub(crate) fn cut_to(self, snap: usize) -> Self {
        Self { snap, ..self }
    }

    /// What the analyser says of the packets in `script`.
    pub(crate) fn seen_as(&self, script: &str) -> Analysis {
        let mut capture = Capture { snap: self.snap, ..Capture::default() };
        capture.analyser = capture.analyser.with_measures();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.see(line, &mut capture);
        }
        capture.analyser.finish()
    }

    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn see(&self, line: &str, capture: &mut Capture) {
        let mut words = line.split_whitespace();
        let millis: f64 = words.next().unwrap().parse().unwrap();
        let to_server = match words.next() {
            Some(">") => true,
            Some("<") => false,
            other => panic!("{line}: expected > or <, found {other:?}"),
        };
        let (mut flags, mut options) = (Flags::NONE, Options::NONE);
        let (mut data, mut ack, mut window) = (0..0_usize, None, u16::MAX);
        (capture.identification, capture.port) = (0, 50_000);
        while let Some(word) = words.next() {
            match word {
                "syn" => {
                    flags.syn = true;
                    (options.mss, options.sack_permitted) = (Some(1_460), true);
                }
                "scale" => {
                    let shift = words.next().unwrap().parse().unwrap();
                    options.window_scale = Some(WindowShift::new(shift));
                }
                "old" => options.sack_permitted = false,
                "anew" => capture.connections += 1,
                "fin" => flags.fin = true,
                "rst" => flags.rst = true,
                "psh" => flags.psh = true,
                "ts" => {
                    let value = words.next().unwrap().parse().unwrap();
                    options.timestamps = Some(Timestamps { value, echo: 0 });
                }
                "echo" => {
                    let timestamps = options.timestamps.as_mut().unwrap();
                    timestamps.echo = words.next().unwrap().parse().unwrap();
                }
                "sack" => {
                    let (from, to) = words.next().unwrap().split_once(':').unwrap();
                    let isn = capture.isns()[usize::from(to_server)];
                    let number = |it: &str| SeqNumber(isn + 1 + it.parse::<u32>().unwrap());
                    options.sack.push(number(from), number(to));
                }
                "ack" => ack = Some(words.next().unwrap().parse::<u32>().unwrap()),
                "ip" => capture.identification = words.next().unwrap().parse().unwrap(),
                "port" => capture.port = words.next().unwrap().parse().unwrap(),
                "win" => window = words.next().unwrap().parse().unwrap(),
                range => {
                    let (from, to) = range.split_once(':').unwrap();
                    data = from.parse().unwrap()..to.parse::<usize>().unwrap();
                }
            }
        }
        if flags.syn && !to_server {
            ack = Some(0);
        }
        let stream = if to_server { &self.client } else { &self.server };
        let at = Instant::EPOCH + Duration::from_secs_f64(millis / 1_000.0);
        let mut segment = Segment { flags, window, options, ..Segment::default() };
        let other = capture.isns()[usize::from(to_server)];
        segment.ack = ack.map(|it| SeqNumber(other + 1 + it));
        if data.len() <= MSS {
            return capture.see(at, to_server, segment, data.start, &stream[data]);
        }
        for (number, start) in (0_u32..).zip(data.clone().step_by(MSS)) {
            let end = data.end.min(start + MSS);
            segment.flags.psh = flags.psh && end == data.end;
            let at = at + SEGMENT_GAP * number;
            capture.see(at, to_server, segment, start, &stream[start..end]);
        }
    }
}

/// The packets so far.
#[derive(Default)]
struct Capture {
    analyser: Analyser,
    packets: u64,
    /// Connections before this one.
    connections: u32,
    /// IPv4's, of the packet that is seen next.
    identification: u16,
    /// The client's.
    port: u16,
    /// Bytes of a packet's data that are captured.
    snap: usize,
}

impl Capture {
    /// Those of the client and the server.
    fn isns(&self) -> [u32; 2] {
        ISNS.map(|isn| isn + self.connections * 1_000_000)
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn see(&mut self, at: Instant, to_server: bool, segment: Segment, start: usize, data: &[u8]) {
        self.packets += 1;
        let isn = self.isns()[usize::from(!to_server)];
        let position = u32::try_from(start).unwrap() + u32::from(!segment.flags.syn);
        let ends = [("10.0.0.1", self.port), ("10.0.0.2", 80)];
        let ends = ends.map(|(host, port)| SocketAddr::new(host.parse().unwrap(), port));
        let [source, destination] = if to_server { ends } else { [ends[1], ends[0]] };
        let len = u32::try_from(data.len()).unwrap();
        self.analyser.handle(&Seen {
            number: self.packets,
            at,
            interface: 0,
            source,
            destination,
            segment: Segment { seq: SeqNumber(isn + position), len, ..segment },
            payload: &data[..data.len().min(self.snap)],
            hop_limit: 64,
            identification: self.identification,
            fragment: false,
            options_cut: false,
            station: None,
        });
    }
}

/// Bytes of a full segment.
const MSS: usize = 1_460;
/// Between the segments of a burst.
const SEGMENT_GAP: Duration = Duration::from_micros(10);
const ISNS: [u32; 2] = [7_000, 90_000];

fn padded(head: &str, length: usize) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    bytes.resize(length - 4, b'x');
    bytes.extend(b"\r\n\r\n");
    bytes
}
