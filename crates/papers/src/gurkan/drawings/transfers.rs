//! What servers send on each connection.

use std::{collections::BTreeMap, ops::Range};

use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Message, Side, Sighting},
};
use ackwise_tcp::Instant;

use crate::gurkan::samples::FTP_FILE;

/// The data segments of the servers by connection, in the order of opening; at most
/// [`Transfers::MOST`].
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers {
    by_connection: BTreeMap<ConnectionId, Transfer>,
    segments: usize,
}

/// One connection's.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfer {
    /// Where each response stands in the stream, head and body, in bytes.
    pub(super) responses: Vec<Range<u64>>,
    pub(super) segments: Vec<Sent>,
    pub(super) is_ftp: bool,
}

/// A data segment that left.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// In seconds.
    pub(super) at: f64,
    /// Where its data stands in the stream, in bytes.
    pub(super) data: Range<u64>,
}

impl Transfers {
    /// Enough for half a minute of 1.5 Mb/s. Ours.
    const MOST: usize = 20_000;

    /// Those of pages, not of FTP's files.
    pub(super) fn of_pages(&self) -> impl Iterator<Item = &Transfer> {
        let all = self.by_connection.values();
        all.filter(|transfer| !transfer.is_ftp && !transfer.segments.is_empty())
    }
}

impl Observer for Transfers {
    #[expect(clippy::cast_precision_loss, reason = "runs last seconds")]
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let transmit = sighting.transmit;
        let length = u64::from(transmit.segment.len);
        if sighting.from != Side::Server || length == 0 || self.segments >= Self::MOST {
            return;
        }
        self.segments += 1;
        let transfer = self.by_connection.entry(sighting.connection).or_default();
        let data = transmit.offset..transmit.offset + length;
        transfer.segments.push(Sent { at: now.as_nanos() as f64 / 1e9, data });
    }

    fn on_message(&mut self, message: &Message, _now: Instant) {
        let Message { connection, from, offset, head, body, .. } = *message;
        if from != Side::Server {
            return;
        }
        let transfer = self.by_connection.entry(connection).or_default();
        transfer.is_ftp |= body == FTP_FILE;
        if transfer.responses.len() < Self::MOST {
            transfer.responses.push(offset..offset + u64::from(head) + body);
        }
    }
}
