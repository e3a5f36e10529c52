//! SCHED_RR where that is allowed: a thread that is only runnable waits for a time slice of others, which
//! is milliseconds; a round-robin one for none of them.

use std::{fmt, io};

use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// How the kernel schedules the emulator's thread.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scheduling {
    /// SCHED_RR with the lowest priority, before every normal thread.
    RoundRobin,
    /// As every other thread: the kernel refused the other one.
    Normal {
        /// What it said, and how to grant it.
        why: String,
    },
}

impl Scheduling {
    /// Asks for the calling thread: the emulator's own, or a program that is measured over a link and
    /// must not wait for other programs.
    pub fn prefer_round_robin() -> Self {
        Self::prefer(ThreadPriority::Min)
    }

    /// Asks for a thread that must run even before those.
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
