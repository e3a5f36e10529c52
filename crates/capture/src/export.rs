//! The packets of one exchange, as they were captured.
//!
//! An analysis keeps no packets, so a second pass over the files finds them: those of the exchange's
//! connection from its request to the ACK of its last byte, and TCP's handshake. Memory is that of one
//! packet. Packets of other exchanges that overlap on the connection come along.
//!
//! No secrets are written unless they are asked for. With them, the connection's packets from the beginning come along:
//! who decrypts counts all records.
//!
//! *Not* here: packets with other addresses that a NAT made of the same ones, and later fragments.

use std::{
    fmt,
    io::{self, Write},
    net::SocketAddr,
};

use ackwise_tcp::{Instant, SeqNumber};

use crate::{
    analysis::{ConnectionResult, ExchangeResult},
    decode::{Seen, Station, decode},
    flow::EndpointPair,
    keys::KeyLogLines,
    pcapng::{File, Packet},
    read::{Drops, Frame},
};

/// Writes the packets of one exchange as pcapng.
///
/// Give it all packets of the capture again, in the same order, until it [is
/// done](Self::is_done).
pub struct ExchangeWriter<W> {
    file: File<W>,
    selection: Selection,
    written: u64,
}

impl<W: Write> ExchangeWriter<W> {
    /// Begins a file of `exchange`, which is one of `connection`.
    ///
    /// # Errors
    ///
    /// If `output` takes nothing.
    pub fn new(
        output: W,
        connection: &ConnectionResult,
        exchange: &ExchangeResult,
    ) -> io::Result<Self> {
        let selection = Selection::new(connection, exchange, From::Request);
        Ok(Self { file: File::new(output)?, selection, written: 0 })
    }

    /// The same with what decrypts the connection, in front of its packets from the beginning.
    ///
    /// # Errors
    ///
    /// As of [`new`](Self::new).
    pub fn with_secrets(
        output: W,
        connection: &ConnectionResult,
        exchange: &ExchangeResult,
        secrets: &KeyLogLines,
    ) -> io::Result<Self> {
        let selection = Selection::new(connection, exchange, From::Beginning);
        let mut file = File::new(output)?;
        file.write_secrets(secrets)?;
        Ok(Self { file, selection, written: 0 })
    }

    /// Takes the next packet of the capture.
    ///
    /// # Errors
    ///
    /// If the output takes no more.
    pub fn handle(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let Ok(seen) = decode(frame) else { return Ok(()) };
        if !self.selection.takes(&seen) {
            return Ok(());
        }
        let packet = Packet {
            at: frame.at,
            interface: frame.interface,
            link_type: frame.link_type,
            station: frame.direction.map(|direction| Station { direction, ifindex: None }),
            lost_before: 0,
        };
        self.written += 1;
        self.file.write_bytes(&packet, frame.bytes, frame.original_len)
    }

    /// Whether no further packet of the capture belongs to the exchange.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.selection.done
    }

    /// Ends the file; the number of packets in it.
    ///
    /// # Errors
    ///
    /// If the output takes no more.
    pub fn finish(self) -> io::Result<u64> {
        self.file.finish(Drops::default())?;
        Ok(self.written)
    }
}

impl<W> fmt::Debug for ExchangeWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file: _, selection, written } = self;
        f.debug_struct("ExchangeWriter")
            .field("selection", selection)
            .field("written", written)
            .finish_non_exhaustive()
    }
}

/// Which packets belong to an exchange.
#[derive(Debug)]
struct Selection {
    pair: EndpointPair,
    client: SocketAddr,
    /// When the connection was first and last seen.
    connection: [Instant; 2],
    /// When the exchange began and ended; the connection's setup may be part of it.
    exchange: [Instant; 2],
    from: From,
    /// The packet in which the request begins.
    request: u64,
    opening: Opening,
    /// The end of what the server has sent, and what the client has acknowledged.
    sent: Option<SeqNumber>,
    acked: Option<SeqNumber>,
    done: bool,
}

/// Where the packets of the connection begin that are taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum From {
    Beginning,
    /// That of the exchange, behind TCP's handshake.
    Request,
}

/// How far the handshake of the connection was seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Opening {
    Before,
    Answered,
    Over,
}

impl Selection {
    fn new(connection: &ConnectionResult, exchange: &ExchangeResult, from: From) -> Self {
        Self {
            pair: EndpointPair::of(connection.client, connection.server),
            client: connection.client,
            connection: [connection.first_seen, connection.last_seen],
            exchange: [exchange.start, exchange.start + exchange.duration],
            from,
            request: exchange.packet,
            opening: Opening::Before,
            sent: None,
            acked: None,
            done: false,
        }
    }

    fn takes(&mut self, packet: &Seen<'_>) -> bool {
        let [first_seen, last_seen] = self.connection;
        if self.done || packet.at < first_seen {
            return false;
        }
        if packet.at > last_seen {
            self.done = true;
            return false;
        }
        if EndpointPair::of(packet.source, packet.destination) != self.pair {
            return false;
        }
        let from_client = packet.source == self.client;
        let opens = self.opens(packet);
        let [begins, ends] = self.exchange;
        let is_before = packet.number < self.request && packet.at < begins;
        if is_before && self.from == From::Request {
            return opens;
        }
        if from_client {
            self.acked = packet.segment.ack.or(self.acked);
        } else if packet.at <= ends && packet.segment.len > 0 {
            let end = packet.segment.seq + packet.segment.len;
            if self.sent.is_none_or(|sent| sent.precedes(end)) {
                self.sent = Some(end);
            }
        }
        self.done = from_client && packet.at >= ends && self.is_acked();
        true
    }

    /// Whether the client has acknowledged all that the server had sent when the exchange ended.
    fn is_acked(&self) -> bool {
        self.sent.zip(self.acked).is_none_or(|(sent, acked)| !acked.precedes(sent))
    }

    /// Whether the packet is one of those that open the connection.
    fn opens(&mut self, packet: &Seen<'_>) -> bool {
        let from_client = packet.source == self.client;
        let syn = packet.segment.flags.syn;
        match (syn, from_client, self.opening) {
            (true, false, Opening::Before) => self.opening = Opening::Answered,
            (false, true, Opening::Answered) => self.opening = Opening::Over,
            _ => return syn,
        }
        true
    }
}
