//! Connections under TLS, written as the lengths of their records.

use std::fmt::Write as _;

use ackwise_capture::analysis::Analysis;

use crate::wire::Streams;

/// A connection, as it is written: both streams, and what was seen.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    pub(crate) streams: [Vec<u8>; 2],
    pub(crate) script: String,
    fins: [usize; 2],
}

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

impl Tls {
    /// TCP's handshake, 10 ms long, seen at the client.
    pub(crate) fn opened() -> Self {
        Self { script: "0 > syn\n10 < syn\n10.1 > ack 0\n".into(), ..Self::default() }
    }

    /// A handshake, a request and a response that takes 51 ms from the first SYN on, seen at the client.
    pub(crate) fn answered(version: &str) -> Self {
        Self::answered_with(version, "23:3000")
    }

    pub(crate) fn answered_with(version: &str, response: &str) -> Self {
        let mut it = Self::opened();
        it.send(10.2, CLIENT, "22:512");
        match version {
            "1.3" => {
                it.send(20.4, SERVER, "22:122 20:1 23:800");
                it.send(20.5, CLIENT, "20:1 23:53");
            }
            _ => {
                it.send(20.4, SERVER, "22:122 20:1 22:40");
                it.send(20.5, CLIENT, "20:1 22:40");
            }
        }
        it.send(20.6, CLIENT, "23:100");
        it.send(51.0, SERVER, response);
        it.ack(51.02, CLIENT);
        it
    }

    /// Sends records; `fin` and `rst` among them are flags.
    pub(crate) fn send(&mut self, at: f64, end: usize, records: &str) {
        let from = self.streams[end].len();
        let mut flags = String::new();
        for word in records.split_whitespace() {
            let Some((kind, length)) = word.split_once(':') else {
                self.fins[end] += usize::from(word == "fin");
                flags += word;
                continue;
            };
            let length: u16 = length.parse().unwrap();
            let stream = &mut self.streams[end];
            stream.extend([kind.parse().unwrap(), 3, 3]);
            stream.extend(length.to_be_bytes());
            stream.resize(stream.len() + usize::from(length), 0xaa);
        }
        let to = self.streams[end].len();
        let (way, acked) = (self.way(end), self.acked(end));
        // What was acknowledged before its own FIN was sent.
        writeln!(self.script, "{at} {way} {from}:{to} psh {flags} ack {acked}").unwrap();
    }

    pub(crate) fn ack(&mut self, at: f64, end: usize) {
        let (way, acked) = (self.way(end), self.acked(end));
        writeln!(self.script, "{at} {way} ack {acked}").unwrap();
    }

    fn way(&self, end: usize) -> &'static str {
        if end == CLIENT { ">" } else { "<" }
    }

    fn acked(&self, end: usize) -> usize {
        self.streams[1 - end].len() + self.fins[1 - end]
    }

    pub(crate) fn seen(&self) -> Analysis {
        Streams::of(&self.streams[CLIENT], &self.streams[SERVER]).seen_as(&self.script)
    }
}
