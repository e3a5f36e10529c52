//! What observers keep of each connection, for as long as it is alive.

use std::collections::BTreeMap;

use ackwise_capture::Positions;
use ackwise_sim::observe::{ConnectionId, Side, Sighting};
use ackwise_tcp::WindowShift;

/// The open connections, each with an observer's own notes. There are as many as the
/// scenario allows at once.
#[derive(Debug, Default)]
pub(super) struct OpenConnections<T> {
    connections: BTreeMap<ConnectionId, OpenConnection<T>>,
}

impl<T: Default> OpenConnections<T> {
    /// A connection that is open, or about to be.
    pub(super) fn find(&mut self, connection: ConnectionId) -> &mut OpenConnection<T> {
        self.connections.entry(connection).or_default()
    }

    /// The connection of a segment that has just been sent: what its SYN says is known by then.
    pub(super) fn on_sent(&mut self, sighting: &Sighting<'_>) -> &mut OpenConnection<T> {
        let connection = self.find(sighting.connection);
        let segment = &sighting.transmit.segment;
        if segment.flags.syn {
            let end = connection.end(sighting.from);
            end.positions.get_or_insert_with(|| Positions::after_syn(segment.seq));
            end.window_scale = segment.options.window_scale;
        }
        connection
    }

    /// Forgets a connection that is over.
    pub(super) fn on_over(&mut self, connection: ConnectionId) -> Option<OpenConnection<T>> {
        self.connections.remove(&connection)
    }
}

/// What was seen of both ends so far.
#[derive(Debug, Default)]
pub(super) struct OpenConnection<T> {
    /// The observer's own.
    pub(super) notes: T,
    ends: [End; 2],
}

#[derive(Debug, Default)]
struct End {
    /// Since its SYN.
    positions: Option<Positions>,
    /// As its SYN offers it.
    window_scale: Option<WindowShift>,
}

impl<T> OpenConnection<T> {
    /// Where a segment begins in its sender's stream; `None` for a SYN.
    pub(super) fn position(&mut self, sighting: &Sighting<'_>) -> Option<u64> {
        let positions = self.end(sighting.from).positions.as_mut()?;
        positions.position(sighting.transmit.segment.seq)
    }

    /// How far a segment acknowledges the stream of the end it is for.
    pub(super) fn acknowledged(&mut self, sighting: &Sighting<'_>) -> Option<u64> {
        let positions = self.end(sighting.from.other()).positions.as_mut()?;
        positions.position(sighting.transmit.segment.ack?)
    }

    /// The window that a segment offers, in bytes.
    ///
    /// RFC 7323, section 2.2: "The window field in a segment where the SYN bit is set (i.e., a
    /// \<SYN\> or \<SYN,ACK\>) MUST NOT be scaled"; and none is unless both SYNs offer it.
    pub(super) fn window(&mut self, sighting: &Sighting<'_>) -> u64 {
        let segment = &sighting.transmit.segment;
        let both = self.end(sighting.from.other()).window_scale.is_some();
        let scale = self.end(sighting.from).window_scale.filter(|_| both && !segment.flags.syn);
        scale.unwrap_or_default().bytes(segment.window).into()
    }

    const fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.ends[0],
            Side::Server => &mut self.ends[1],
        }
    }
}
