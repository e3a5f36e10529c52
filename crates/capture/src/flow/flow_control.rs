//! HTTP/2's flow control, as far as it delays data.

use std::collections::BTreeMap;

use ackwise_cause::H2Window;
use ackwise_tcp::Instant;

use super::sealed_credit::{SealedCredit, SealedCredits};
use crate::conversation::ExchangeId;

/// Whether it lets data of one direction go.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowControl {
    connection: Option<Closed>,
    /// Open exchanges whose stream has used up its window: no more than there are.
    streams: BTreeMap<ExchangeId, Closed>,
    /// If the capture lacks frames: the bytes that fit into any window.
    unseen: Option<u64>,
    /// How far the sender had heard the receiver when it sent the last data, if the capture lacks frames.
    heard: u64,
    /// Of some data, it is not known whether it was delayed.
    is_doubtful: bool,
    /// What records show that may give credit.
    sealed: Option<Box<SealedCredits>>,
}

/// A window that is used up, or was until after the last data.
#[derive(Clone, Copy, Debug)]
struct Closed {
    window: H2Window,
    reopened: bool,
}

/// How it delayed data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Delay {
    /// Not.
    None,
    /// Nobody could send anything.
    All(H2Window),
    /// Some streams could not send anything, others could.
    Some,
    /// Perhaps: the capture lacks frames.
    Unseen,
}

/// The data that may have been delayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    /// Position after its last byte.
    pub end: u64,
    /// How far its sender has heard the receiver.
    pub heard: u64,
    /// The number of open exchanges.
    pub open: usize,
}

impl FlowControl {
    /// A window is used up: that of this exchange's stream, or that of the connection.
    pub(super) fn close(&mut self, exchange: Option<ExchangeId>, window: H2Window) {
        let closed = Closed { window, reopened: false };
        match exchange {
            None => self.connection = Some(closed),
            Some(exchange) => drop(self.streams.insert(exchange, closed)),
        }
    }

    pub(super) fn reopen(&mut self, exchange: Option<ExchangeId>) {
        let closed = match &exchange {
            None => self.connection.as_mut(),
            Some(exchange) => self.streams.get_mut(exchange),
        };
        if let Some(closed) = closed {
            closed.reopened = true;
        }
    }

    /// What the capture lacks may have closed or opened any window, but that of a connection that has carried no more
    /// than `least` bytes.
    /// Its sender has `heard` the receiver so far.
    pub(super) fn lose(&mut self, least: u64, heard: u64) {
        (self.unseen, self.heard) = (Some(least), heard);
        (self.connection, self.streams) = Default::default();
    }

    /// A record was seen that may give credit. The first comes when the server has `heard` the client so far, and has
    /// paused if all that was written had left.
    pub(super) fn give_sealed(
        &mut self,
        credit: SealedCredit,
        heard: u64,
        paused_at: Option<Instant>,
    ) {
        let begin = || Box::new(SealedCredits::behind(heard, paused_at));
        self.sealed.get_or_insert_with(begin).give(credit);
    }

    /// What such records show, if there were any.
    pub(super) fn sealed(&mut self) -> Option<&mut SealedCredits> {
        self.sealed.as_deref_mut()
    }

    /// Of some data, it is not known whether it was delayed, and that mattered.
    pub(super) fn note_doubt(&mut self) {
        self.is_doubtful = true;
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// An exchange is over: nothing gives its stream more room.
    pub(super) fn end(&mut self, exchange: ExchangeId) {
        self.streams.remove(&exchange);
    }

    /// Whether it lets data go, and did since the last.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_none() && self.streams.is_empty()
    }

    /// How it delayed the next data; asked once for each. RFC 9113, section 6.9: what opens a window is a frame of the
    /// receiver, so that data which leaves without having heard of one was not delayed.
    pub(super) fn delay_data(&mut self, Data { end, heard, open }: Data) -> Delay {
        if let Some(least) = self.unseen {
            let hears = std::mem::replace(&mut self.heard, heard) < heard;
            return if hears && end > least { Delay::Unseen } else { Delay::None };
        }
        if self.is_open() {
            return Delay::None;
        }
        let of_streams = || self.streams.values().map(|it| it.window);
        let delay = match self.connection {
            Some(closed) => Delay::All(of_streams().fold(closed.window, H2Window::and)),
            None if self.streams.len() < open => Delay::Some,
            None => of_streams().reduce(H2Window::and).map_or(Delay::None, Delay::All),
        };
        self.connection.take_if(|it| it.reopened);
        self.streams.retain(|_, it| !it.reopened);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use H2Window::{Both, Connection, Stream};

    const ONE: Option<ExchangeId> = Some(ExchangeId(1));
    const TWO: Option<ExchangeId> = Some(ExchangeId(2));

    /// The next data, and the number of exchanges that are open.
    const fn next(open: usize) -> Data {
        Data { end: 100, heard: 0, open }
    }

    #[test]
    fn data_is_delayed_until_after_the_window_has_opened() {
        let mut control = FlowControl::default();
        assert_eq!(control.delay_data(next(1)), Delay::None);
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(next(1)), Delay::All(Stream));
        control.reopen(ONE);
        assert!(!control.is_open());
        assert_eq!(control.delay_data(next(1)), Delay::All(Stream));
        assert!(control.is_open());
        assert_eq!(control.delay_data(next(1)), Delay::None);
    }

    #[test]
    fn a_stream_delays_only_itself_and_the_connection_delays_all() {
        let mut control = FlowControl::default();
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(next(2)), Delay::Some, "the other may be what is waited for");
        control.close(TWO, Both);
        assert_eq!(control.delay_data(next(2)), Delay::All(Both));
        let mut control = FlowControl::default();
        control.close(None, Connection);
        assert_eq!(control.delay_data(next(7)), Delay::All(Connection));
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(next(7)), Delay::All(Both));
    }

    #[test]
    fn what_the_capture_lacks_may_delay_data_that_hears_of_the_receiver_and_fits_no_window() {
        let mut control = FlowControl::default();
        control.close(ONE, Stream);
        control.lose(100, 6);
        for (end, heard, expected) in [
            (100, 7, Delay::None),
            (101, 7, Delay::None),
            (102, 8, Delay::Unseen),
            (103, 8, Delay::None),
        ] {
            assert_eq!(control.delay_data(Data { end, heard, open: 1 }), expected, "{end}");
        }
    }

    #[test]
    fn what_is_over_delays_nothing() {
        let mut control = FlowControl::default();
        control.close(ONE, Stream);
        control.end(ExchangeId(1));
        assert_eq!(control.delay_data(next(1)), Delay::None);
        control.reopen(ONE);
        assert!(control.is_open());
    }
}
