//! Pauses of the machine, caused by a thread that cannot be preempted.

use std::{
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::emulator::ProcessorWatch;
use ackwise_testing::skip;
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

#[test]
fn a_processor_that_was_taken_away_is_noticed() {
    const AWAY: Duration = Duration::from_millis(30);
    let watch = ProcessorWatch::start().unwrap();
    // The watch must run before this takes the processor.
    thread::sleep(Duration::from_millis(20));
    if let Err(why) = thread::scope(|scope| scope.spawn(|| take_a_processor(AWAY)).join().unwrap())
    {
        return skip("a_processor_that_was_taken_away_is_noticed", why);
    }
    let longest = watch.stop();
    assert!(longest > AWAY / 2, "{longest:?}");
}

/// As under a hypervisor: nothing else runs on one of the processors.
fn take_a_processor(span: Duration) -> Result<(), String> {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread).map_err(|error| error.to_string())?;
    let first = (0..CpuSet::count()).find(|&processor| allowed.is_set(processor) == Ok(true));
    let mut only = CpuSet::new();
    only.set(first.expect("this runs on one")).expect("it is a processor");
    sched_setaffinity(this_thread, &only).map_err(|error| error.to_string())?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, policy)
        .map_err(|error| format!("cannot take a processor: {error}"))?;
    let until = Instant::now() + span;
    while Instant::now() < until {}
    Ok(())
}
