//! How many links that users follow begin with a window that was cut while they read.

use std::collections::BTreeMap;

use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Message, Side, Sighting},
};
use ackwise_tcp::Instant;

/// Watches the windows with which servers begin to answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    connections: BTreeMap<ConnectionId, ServerWindow>,
    /// Pages asked for on a connection that has carried one before.
    pub(super) followed: u64,
    /// Those of them that began with a smaller window than the last page ended with.
    pub(super) cut: u64,
}

/// What is known of one server's window.
#[derive(Clone, Copy, Debug, Default)]
struct ServerWindow {
    /// When it last sent new data; 0 before that.
    last: u32,
    /// The response to a link begins at this offset, and was not sent yet.
    begins: Option<u64>,
}

impl Links {
    /// The share that was cut, in percent.
    #[expect(clippy::cast_precision_loss, reason = "there are not 2^53 links")]
    pub(super) fn cut_pct(&self) -> Option<f64> {
        (self.followed > 0).then(|| 100.0 * self.cut as f64 / self.followed as f64)
    }
}

impl Observer for Links {
    fn on_message(&mut self, message: &Message, _now: Instant) {
        if message.from == Side::Server && message.file == 0 && message.offset > 0 {
            let window = self.connections.entry(message.connection).or_default();
            window.begins = Some(message.offset);
        }
    }

    fn on_sent(&mut self, sighting: &Sighting<'_>, _now: Instant) {
        let transmit = sighting.transmit;
        if sighting.from != Side::Server || transmit.segment.len == 0 || transmit.retransmission {
            return;
        }
        let window = self.connections.entry(sighting.connection).or_default();
        if window.begins.take_if(|begins| *begins <= transmit.offset).is_some() {
            self.followed += 1;
            self.cut += u64::from(sighting.congestion_window < window.last);
        }
        window.last = sighting.congestion_window;
    }
}
