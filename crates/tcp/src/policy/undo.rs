//! Whether a sender takes back what it did for a loss that was none, and how it finds out.

/// Whether a sender takes the reduction of its window back when it learns that nothing was lost.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum UndoPolicy {
    /// It does not.
    Off,
    /// It does, as Linux (`tcp_may_undo`): if the ACK that advances echoes a timestamp from before the
    /// first retransmission (the Eifel detection of RFC 3522), or once D-SACKs have reported everything
    /// that was sent again as a duplicate (RFC 3708). cwnd and ssthresh are then what they were, if that
    /// is more; RFC 4015 would restart from the flight.
    Linux,
}

/// Whether a retransmission timeout is put to the test before everything is sent again.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum FrtoPolicy {
    /// Everything from SND.UNA on is sent again.
    Off,
    /// F-RTO: RFC 5682, as in Linux (`tcp_process_loss`). After the first retransmission is acknowledged,
    /// new data leaves. If data is then acknowledged that was sent once only, the timeout was spurious,
    /// and is undone; a duplicate ACK shows that it was not.
    Linux,
}
