//! SCHED_RR if permitted: a normal runnable thread may wait milliseconds for other threads' time
//! slices; a round-robin thread does not.

use std::{fmt, io};

use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Scheduling of the emulator's thread.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scheduling {
    /// SCHED_RR with the lowest priority, above every normal thread.
    RoundRobin,
    /// Normal scheduling: the kernel refused SCHED_RR.
    Normal {
        /// The kernel's error, and how to grant the permission.
        why: String,
    },
}

impl Scheduling {
    /// Requests SCHED_RR for the calling thread: the emulator's, or a measured program that must
    /// not wait for others.
    pub fn prefer_round_robin() -> Self {
        Self::prefer(ThreadPriority::Min)
    }

    /// Requests a priority above those threads.
    pub(super) fn prefer_before_round_robin() -> Self {
        const SECOND_LOWEST: u8 = 2;
        let priority =
            ThreadPriorityValue::try_from(SECOND_LOWEST).map(ThreadPriority::Crossplatform);
        Self::prefer(priority.unwrap_or(ThreadPriority::Min))
    }

    fn prefer(priority: ThreadPriority) -> Self {
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        match set_thread_priority_and_policy(thread_native_id(), priority, policy) {
            Ok(()) => Self::RoundRobin,
            Err(error) => Self::Normal { why: explain(error) },
        }
    }
}

fn explain(error: Error) -> String {
    let said = match error {
        Error::OS(errno) => io::Error::from_raw_os_error(errno).to_string(),
        other => other.to_string(),
    };
    format!("{said}; run as root, or grant CAP_SYS_NICE or `ulimit -r 1`")
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin => write!(f, "SCHED_RR"),
            Self::Normal { why } => write!(f, "normal scheduling ({why})"),
        }
    }
}
