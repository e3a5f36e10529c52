//! Sequence numbers over time, as Heidemann's figures 1 and 3 plot them: one row for each segment at
//! each end, for a plotting program.
//!
//! A figure at the sender is the rows that it sent (segments) and received (ACK line; ACK line and
//! window together are the window line).

use std::io::{self, Write};

use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Side, Sighting},
    scenario::NodeId,
};
use ackwise_tcp::{Instant, Segment};

use super::open_connections::{OpenConnection, OpenConnections};

/// Writes every sighting of every connection as a line of CSV, see [`TimeSequence::COLUMNS`].
///
/// Sequence numbers count as tcpdump's do: 0 is the SYN, 1 the first byte of data. The first error
/// ends the run early; [`TimeSequence::finish`] tells it.
#[derive(Debug)]
pub struct TimeSequence<W> {
    output: W,
    /// The host whose rows are written; else those of all.
    host: Option<NodeId>,
    open_connections: OpenConnections<()>,
    rows: u64,
    failure: Option<io::Error>,
}

impl<W: Write> TimeSequence<W> {
    /// The first line: what the columns are, with their units.
    ///
    /// `time_s` is the run's clock; `event` is `sent`, `received` or `dropped`, `from` the end that
    /// sent the segment, whose window and (when it left) congestion window stand in the row too. An
    /// empty field is not in the segment, or (a RST that answers nonsense) stands nowhere.
    pub const COLUMNS: &str = "time_s,connection,event,from,flags,seq_first,seq_next,len_bytes,ack,\
                               win_bytes,cwnd_bytes,retransmission";

    /// Writes to `output`, which wants a buffer: all rows, or what `host` sends and receives.
    ///
    /// # Errors
    ///
    /// If `output` takes nothing.
    pub fn new(mut output: W, host: Option<NodeId>) -> io::Result<Self> {
        writeln!(output, "{}", Self::COLUMNS)?;
        let open_connections = OpenConnections::default();
        Ok(Self { output, host, open_connections, rows: 0, failure: None })
    }

    /// Flushes, and says how many rows there are.
    ///
    /// # Errors
    ///
    /// What ended the series before its time, or that the output cannot be flushed.
    pub fn finish(mut self) -> io::Result<u64> {
        self.failure.map_or(Ok(()), Err)?;
        self.output.flush()?;
        Ok(self.rows)
    }

    fn is_seen_at(&self, host: NodeId) -> bool {
        self.host.is_none_or(|it| it == host)
    }

    fn write(&mut self, event: &str, sighting: &Sighting<'_>, now: Instant) {
        if self.failure.is_some() {
            return;
        }
        let row = Row::new(sighting, self.open_connections.find(sighting.connection));
        match row.write(&mut self.output, event, sighting, now) {
            Ok(()) => self.rows += 1,
            Err(error) => self.failure = Some(error),
        }
    }
}

impl<W: Write> Observer for TimeSequence<W> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.open_connections.on_sent(sighting);
        if self.is_seen_at(sighting.hosts[0]) {
            self.write("sent", sighting, now);
        }
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if self.is_seen_at(sighting.hosts[1]) {
            self.write("received", sighting, now);
        }
    }

    fn on_dropped(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if self.host.is_none() {
            self.write("dropped", sighting, now);
        }
    }

    fn on_over(&mut self, connection: ConnectionId, _now: Instant) {
        self.open_connections.on_over(connection);
    }

    fn goes_on(&mut self, _now: Instant) -> bool {
        self.failure.is_none()
    }
}

/// What a row knows from the connection; as tcpdump counts.
struct Row {
    seq: Option<u64>,
    ack: Option<u64>,
    window: u64,
}

impl Row {
    fn new(sighting: &Sighting<'_>, connection: &mut OpenConnection<()>) -> Self {
        let seq = match sighting.transmit.segment.flags.syn {
            true => Some(0),
            false => connection.position(sighting).map(|position| position + 1),
        };
        let ack = connection.acknowledged(sighting).map(|position| position + 1);
        Self { seq, ack, window: connection.window(sighting) }
    }

    fn write(
        &self,
        output: &mut impl Write,
        event: &str,
        sighting: &Sighting<'_>,
        now: Instant,
    ) -> io::Result<()> {
        let Sighting { connection, from, transmit, congestion_window, .. } = *sighting;
        let from = match from {
            Side::Client => "client",
            Side::Server => "server",
        };
        let nanos = now.as_nanos();
        let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        write!(output, "{seconds}.{nanos:09},{},{event},{from},", connection.0)?;
        let segment = &transmit.segment;
        let next = self.seq.map(|seq| seq + u64::from(segment.len));
        write!(output, "{},{},{},", flags(segment), text(self.seq), text(next))?;
        write!(output, "{},{},{},", segment.len, text(self.ack), self.window)?;
        writeln!(output, "{congestion_window},{}", u8::from(transmit.retransmission))
    }
}

fn text(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// As tcpdump writes them: S, F, R and P; a dot if there is none of these.
fn flags(segment: &Segment) -> String {
    let flags = segment.flags;
    let letters = [(flags.syn, 'S'), (flags.fin, 'F'), (flags.rst, 'R'), (flags.psh, 'P')];
    let set: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
    if set.is_empty() { ".".to_owned() } else { set }
}
