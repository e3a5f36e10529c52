//! One endpoint against a peer that sends anything.

use core::time::Duration;

use ackwise_tcp::{Endpoint, Instant, endpoint::PathMtuReport};

use crate::{
    checked::Checked,
    operation::{Operation, Run, clock},
};

/// Runs the operations that concern the first end.
///
/// # Panics
///
/// If an invariant is broken.
pub fn run(run: &Run) {
    let mut now = Instant::EPOCH;
    let config = run.setup.config();
    let mut end = if run.active {
        Checked::connect(config, run.setup.iss(), now)
    } else {
        Checked::listen(config, run.setup.iss())
    };
    end.settle(drop, now);
    for operation in run.operations.iter().take(Run::LIMIT) {
        now = apply(operation, &mut end, now);
        end.settle(drop, now);
    }
}

/// A router reports an MTU for the segment that lies `back` before SND.NXT; believed or not.
pub(crate) fn report_path_mtu(endpoint: &mut Endpoint, mtu: u16, back: u16) {
    let sequence = endpoint.next_sequence() - u32::from(back);
    let before = endpoint.segment_size();
    let believed = endpoint.handle_path_mtu(PathMtuReport { mtu: mtu.into(), sequence });
    let after = endpoint.segment_size();
    assert!(if believed.is_ok() { after < before } else { after == before }, "{endpoint:?}");
}

fn apply(operation: &Operation, end: &mut Checked, now: Instant) -> Instant {
    let endpoint = &mut end.endpoint;
    match *operation {
        Operation::Segment(crafted) => {
            let (seq, ack) = (endpoint.next_expected(), endpoint.next_sequence());
            let segment = crafted.segment(seq, ack, clock(now));
            let placement = endpoint.handle_segment(&segment, now).placement();
            if let Some(placement) = placement {
                assert!(
                    placement.skip + placement.len <= segment.len,
                    "{placement:?}: {segment:?}"
                );
            }
            let _ = (endpoint.reopens(&segment), ackwise_tcp::endpoint::refuse(&segment));
        }
        Operation::Write(_, bytes) => {
            assert!(endpoint.write(bytes.into()) <= bytes.into());
        }
        Operation::Read(_, bytes) => assert!(endpoint.read(bytes.into()) <= bytes.into()),
        Operation::Close(_) => endpoint.close(),
        Operation::Abort(_) => endpoint.abort(),
        Operation::Hold(_, hold) => endpoint.set_hold(hold.policy()),
        Operation::Ack(_, ack) => endpoint.set_ack(ack.policy()),
        Operation::AcknowledgeNow(_) => endpoint.acknowledge_now(),
        Operation::ReceiveBuffer(_, bytes) => end.set_receive_buffer(bytes),
        Operation::PathMtu(_, mtu, back) => report_path_mtu(endpoint, mtu, back),
        Operation::Pass(tenths) => {
            let later = now + Duration::from_micros(100 * u64::from(tenths));
            // Late, if a timer was due before: a driver may be.
            endpoint.handle_timeout(later);
            return later;
        }
        Operation::NextTimer => {
            let due = endpoint.poll_timeout().map_or(now, |deadline| deadline.at);
            endpoint.handle_timeout(due);
            return due;
        }
        Operation::Deliver(_)
        | Operation::Lose(_)
        | Operation::Duplicate(_)
        | Operation::Overtake(_) => {}
    }
    now
}
