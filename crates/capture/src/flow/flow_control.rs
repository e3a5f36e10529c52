//! HTTP/2's flow control, as far as it delays data.

/// Whether it lets data of one direction go.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum FlowControl {
    /// It lets data go.
    #[default]
    Open,
    /// A window is used up.
    Blocked,
    /// It was, until after the last data.
    Reopened,
}

impl FlowControl {
    /// Whether the next data was delayed by it; asked once for each.
    pub(super) fn delays_data(&mut self) -> bool {
        let before = *self;
        if before == Self::Reopened {
            *self = Self::Open;
        }
        before != Self::Open
    }

    /// Whether it lets data go, and did since the last.
    pub(super) fn is_open(self) -> bool {
        self == Self::Open
    }

    pub(super) fn reopen(&mut self) {
        if *self == Self::Blocked {
            *self = Self::Reopened;
        }
    }
}
