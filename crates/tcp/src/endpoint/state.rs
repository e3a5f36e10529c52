//! The states of RFC 9293, section 3.3.2.

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received, ours sent.
    SynReceived,
    /// Open.
    Established,
    /// We have closed; our FIN is not acknowledged.
    FinWait1,
    /// We have closed; our FIN is acknowledged.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// The peer has closed, then we.
    LastAck,
    /// Waiting for old duplicates to die.
    TimeWait,
}
