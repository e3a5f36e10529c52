//! What the application should hear about.

use crate::wait::Timer;

/// What the application should hear about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is over.
    Connected,
    /// In-order data is there up to [`Endpoint::received`](crate::Endpoint::received).
    Readable,
    /// The send buffer has room again.
    Writable,
    /// The peer will send no more (FIN), and everything before it has arrived.
    PeerClosed,
    /// Both directions are closed in an orderly way, or we gave up; the endpoint may still be in
    /// TIME-WAIT.
    Closed,
    /// The peer reset the connection, or refused it.
    Reset,
    /// The connection was given up: which timer said so.
    TimedOut(Timer),
    /// The peer sent urgent data; it is delivered in line, the pointer is ignored.
    UrgentIgnored,
    /// A congestion control that is set from outside has something to hear:
    /// [`Endpoint::poll_congestion`](crate::Endpoint::poll_congestion).
    Congestion,
}

/// Events that were not taken yet: a set, because hearing of one twice tells nothing more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Events {
    pending: u16,
}

/// In the order in which an application wants to hear of them; windows are set before it acts.
const ORDER: [Event; 9] = [
    Event::Congestion,
    Event::Connected,
    Event::UrgentIgnored,
    Event::Readable,
    Event::Writable,
    Event::PeerClosed,
    Event::Reset,
    Event::TimedOut(Timer::UserTimeout),
    Event::Closed,
];

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        let index = ORDER.iter().position(|&known| known == event);
        debug_assert!(index.is_some(), "{event:?} is not in the order of events");
        self.pending |= index.map_or(0, |index| 1 << index);
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<Event> {
        let index = self.pending.trailing_zeros();
        let event = ORDER.get(usize::try_from(index).ok()?)?;
        self.pending &= self.pending - 1;
        Some(*event)
    }
}
