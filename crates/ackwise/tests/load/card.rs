//! What the hosts of the other tests are asked for.

/// Whose TCP plays the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stack {
    Kernel,
    Ackwise,
}
