//! The status codes of gRPC.

use core::fmt;

/// How a gRPC call ended: the number in `grpc-status`.
///
/// ```
/// use ackwise_cause::GrpcStatus;
///
/// assert_eq!(GrpcStatus(5).name(), Some("NOT_FOUND"));
/// assert_eq!(GrpcStatus(99).name(), None);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GrpcStatus(pub u16);

/// Formats the number, with its name if it has one: `14 UNAVAILABLE`.
impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} {name}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl GrpcStatus {
    /// The call succeeded.
    pub const OK: Self = Self(0);
    /// The deadline passed before the call was complete.
    pub const DEADLINE_EXCEEDED: Self = Self(4);
    /// The service could not be reached, or went away.
    pub const UNAVAILABLE: Self = Self(14);

    /// `NOT_FOUND`, …; `None` if gRPC has no such code.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(usize::from(self.0)).copied()
    }
}

/// gRPC, doc/statuscodes.md.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
