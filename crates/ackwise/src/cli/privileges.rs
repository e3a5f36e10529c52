//! What a command needed to open its sockets is given back before it reads what others sent.

/// Gives up this thread's capabilities, and says so if that fails: the command goes on.
#[cfg(target_os = "linux")]
pub(crate) fn give_up() {
    if let Err(error) = ackwise_linux::privileges::give_up() {
        eprintln!("warning: cannot give up capabilities: {error}");
    }
}

/// There are no capabilities.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_up() {}

/// Keeps this thread and those that it starts from what reading a capture does not need, and says so if that fails: the
/// command goes on.
#[cfg(target_os = "linux")]
pub(crate) fn confine() {
    if let Err(error) = ackwise_linux::confine::Confinement::OpensNothing.apply() {
        eprintln!("warning: cannot confine the threads that read packets: {error}");
    }
}

/// There are no filters of system calls.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine() {}
