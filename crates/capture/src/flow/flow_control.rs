//! HTTP/2's flow control, as far as it delays data.

use std::collections::BTreeMap;

use ackwise_cause::H2Window;

use crate::conversation::ExchangeId;

/// Whether it lets data of one direction go.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowControl {
    connection: Option<Closed>,
    /// Open exchanges whose stream has used up its window: no more than there are.
    streams: BTreeMap<ExchangeId, Closed>,
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

    /// An exchange is over: nothing gives its stream more room.
    pub(super) fn end(&mut self, exchange: ExchangeId) {
        self.streams.remove(&exchange);
    }

    /// Whether it lets data go, and did since the last.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_none() && self.streams.is_empty()
    }

    /// How it delayed the next data, while so many exchanges are `open`; asked once for each.
    pub(super) fn delay_data(&mut self, open: usize) -> Delay {
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

    #[test]
    fn data_is_delayed_until_after_the_window_has_opened() {
        let mut control = FlowControl::default();
        assert_eq!(control.delay_data(1), Delay::None);
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(1), Delay::All(Stream));
        control.reopen(ONE);
        assert!(!control.is_open());
        assert_eq!(control.delay_data(1), Delay::All(Stream));
        assert!(control.is_open());
        assert_eq!(control.delay_data(1), Delay::None);
    }

    #[test]
    fn a_stream_delays_only_itself_and_the_connection_delays_all() {
        let mut control = FlowControl::default();
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(2), Delay::Some, "the other may be what is waited for");
        control.close(TWO, Both);
        assert_eq!(control.delay_data(2), Delay::All(Both));
        let mut control = FlowControl::default();
        control.close(None, Connection);
        assert_eq!(control.delay_data(7), Delay::All(Connection));
        control.close(ONE, Stream);
        assert_eq!(control.delay_data(7), Delay::All(Both));
    }

    #[test]
    fn what_is_over_delays_nothing() {
        let mut control = FlowControl::default();
        control.close(ONE, Stream);
        control.end(ExchangeId(1));
        assert_eq!(control.delay_data(1), Delay::None);
        control.reopen(ONE);
        assert!(control.is_open());
    }
}
