//! What the trials of all sizes say together.

use std::{collections::BTreeMap, time::Duration};

use ackwise_text::words::counted;

use super::{
    Answer, ByRequest, NagleDelayedAck, Player, ReceiverName, ReleasedBy, Scene, Size, TriedSize,
};
use crate::{
    checks::judged::Judged,
    milliseconds::{ms, rounded},
    no_verdict::NoVerdict,
    server::follow::{Release, STALL},
    stack::AckRule,
    verdict::{Reason, Verdict},
};

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn report(
    sizes: &[Size],
    untried: usize,
    players: &[Player],
) -> Result<Judged, NoVerdict> {
    let worst = sizes
        .iter()
        // What clients elsewhere lose counts more, however little.
        .max_by_key(|size| (size.weight(), size.scene != Scene::SameHost, size.cost(), size.stall))
        .ok_or_else(|| NoVerdict::unknown(Reason::NoAnswer, "no response was asked for"))?;
    let waits_for_ack = worst.release == Release::Ack;
    let mut values = NagleDelayedAck {
        only_first: waits_for_ack.then_some(worst.scene == Scene::First),
        only_same_host: waits_for_ack.then_some(worst.scene == Scene::SameHost),
        range_bytes: worst.page.bytes.filter(|_| waits_for_ack).map(|_| worst.content),
        receiver: waits_for_ack.then(|| worst.rule.into()),
        released_by: released_by(worst.release),
        cost_ms_40: worst.cost_40.map(ms),
        cost_ms_120: worst.cost_120.map(ms),
        cost_ms_200_computed: None,
        cost_quartiles_ms: worst.stretched.map(|quartiles| quartiles.map(ms)),
        sizes: Some(sizes.iter().map(tried_size).collect()),
    };
    let (bytes, stall) = (worst.content, worst.stall.map(ms).unwrap_or_default());
    let pauses = format!("a response with a {bytes}-byte body pauses");
    let (verdict, cost, summary) = match worst.release {
        Release::Ack if !worst.rule.is_in_use() => {
            let summary = format!(
                "the last segment of a response with a {bytes}-byte body waits ({stall:.0} ms in this \
                 test), but only for a client that acknowledges two full segments, as BSD did in 1996; \
                 Linux, and clients that acknowledge every second segment, lose nothing"
            );
            (Verdict::Warn, None, summary)
        }
        Release::Ack => {
            values.cost_ms_200_computed = computed_200(worst);
            let (verdict, summary) = waits(worst);
            (verdict, Some(ms(worst.cost())), summary)
        }
        Release::NotHeld if untried > 0 => {
            let summary = format!(
                "no response waits for the client's ACK in {} of {} pages; the limit of requests or of time \
                 left none for the others (raise --max-requests or --timeout)",
                sizes.len(),
                sizes.len() + untried
            );
            (Verdict::Unknown, None, summary)
        }
        Release::NotHeld => {
            let client = match players {
                [_] => "the ACK of a client on Linux",
                _ => "the client's ACK",
            };
            let tried = counted(sizes.len() as u64, "size");
            (Verdict::Pass, None, format!("no response waits for {client} ({tried} tried)"))
        }
        Release::Timer => {
            let whatever = "whether or not the client sends an ACK: see cork-timer";
            (Verdict::Pass, None, format!("a response pauses for {stall:.0} ms {whatever}"))
        }
        Release::Other => {
            let summary =
                format!("{pauses} for {stall:.0} ms, but not for an ACK: see response-pause");
            (Verdict::Pass, None, summary)
        }
        Release::Undecided => {
            let summary = format!("{pauses}, but {TOO_BUSY}");
            (Verdict::Unknown, None, summary)
        }
    };
    let judged = Judged::new(verdict, summary, values);
    let found = match verdict {
        Verdict::Unknown if worst.release == Release::Undecided => {
            judged.because(Reason::Disturbed)
        }
        Verdict::Unknown => judged.because(Reason::Limit),
        _ => judged,
    };
    Ok(found.costing(cost).shown_by(worst.shown.as_ref()))
}

/// For which client a response waits, how long, how often, and from which request on.
fn waits(worst: &Size) -> (Verdict, String) {
    let (held, of) = (worst.answers.iter().filter(|it| it.held).count(), worst.answers.len());
    let client = match (worst.scene, worst.rule) {
        (Scene::SameHost, _) => {
            "the delayed ACK of a client on the same host (a proxy, for example; MSS 65,495)"
        }
        (_, AckRule::EverySecond) => {
            "the delayed ACK of a client that acknowledges every second segment"
        }
        (_, AckRule::Linux | AckRule::TwoFull) => "the client's delayed ACK",
    };
    let when = format!("for {client} in {held} of {of} responses{}", beginning(&worst.answers));
    let segment = match worst.scene {
        Scene::First => {
            "the first response of a connection, behind what the server sends before it (TLS session tickets, \
             HTTP/2's own frames),"
                .to_owned()
        }
        Scene::Kept | Scene::SameHost => {
            format!("the last segment of a response with a {}-byte body", worst.content)
        }
    };
    let cost = ms(worst.cost());
    if worst.cost() < STALL {
        let little = "beyond the delays of the application and the path";
        return (
            Verdict::Warn,
            format!("{segment} waits {when}, but this costs only {cost:.1} ms {little}"),
        );
    }
    let doubt = worst.stretched.map_or_else(String::new, |quartiles| {
        let [first, third] = quartiles.map(ms);
        format!(
            "; doubtful: this machine or the path was busy (half of the waits took {first:.0} to \
             {third:.0} ms)"
        )
    });
    (Verdict::Fail, format!("{segment} waits {cost:.0} ms {when}{doubt}"))
}

/// From which request of a connection on responses wait, if not from the first.
fn beginning(answers: &[Answer]) -> String {
    let first = answers.iter().filter(|it| it.held).map(|it| it.request).min();
    let earlier = |first| answers.iter().any(|it| it.request < first);
    match first.filter(|first| earlier(*first)) {
        Some(first) => format!(", not before request {first} of a connection"),
        None => String::new(),
    }
}

/// A receiver of 200 ms races Linux's retransmission timer, so that is not measured. An application that
/// writes on meanwhile loses no more with a longer delay.
fn computed_200(worst: &Size) -> Option<f64> {
    let (short, long) = (worst.cost_40.map(ms), worst.cost_120.map(ms));
    let grows = short.zip(long).is_none_or(|(short, long)| long >= short + 40.0);
    short.filter(|_| grows).map(|cost| rounded(cost + 160.0))
}

const fn released_by(release: Release) -> Option<ReleasedBy> {
    match release {
        Release::NotHeld => Some(ReleasedBy::None),
        Release::Ack => Some(ReleasedBy::Ack),
        Release::Timer => Some(ReleasedBy::Timer),
        Release::Other => Some(ReleasedBy::Other),
        Release::Undecided => None,
    }
}

fn tried_size(size: &Size) -> TriedSize {
    let stall: Option<Duration> = size.stall;
    TriedSize {
        by_request: by_request(&size.answers),
        bytes: size.content,
        path: size.page.path.clone(),
        receiver: (size.release == Release::Ack).then(|| size.rule.into()),
        released_by: released_by(size.release),
        stall_ms: stall.map(ms),
    }
}

/// How many responses waited, by the number of the request on its connection.
fn by_request(answers: &[Answer]) -> Vec<ByRequest> {
    let mut numbers: BTreeMap<u32, ByRequest> = BTreeMap::new();
    for Answer { request, held } in answers.iter().copied() {
        let number = numbers.entry(request).or_insert(ByRequest { asked: 0, held: 0, request });
        number.asked += 1;
        number.held += u32::from(held);
    }
    numbers.into_values().collect()
}

impl From<AckRule> for ReceiverName {
    fn from(rule: AckRule) -> Self {
        match rule {
            AckRule::Linux => Self::Linux,
            AckRule::EverySecond => Self::EverySecond,
            AckRule::TwoFull => Self::TwoFull,
        }
    }
}

/// What a disturbance looks like.
const TOO_BUSY: &str =
    "the trials were inconclusive: too few responses wait, or this machine or the path is too busy";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_counted_by_the_number_of_their_request() {
        let answer = |request, held| Answer { request, held };
        let answers = [
            answer(1, false),
            answer(2, false),
            answer(3, false),
            answer(4, true),
            answer(1, false),
            answer(4, true),
        ];
        assert_eq!(beginning(&answers), ", not before request 4 of a connection");
        assert_eq!(beginning(&answers[3..4]), "");
        let counts: Vec<_> =
            by_request(&answers).iter().map(|it| (it.request, it.asked, it.held)).collect();
        assert_eq!(counts, [(1, 2, 0), (2, 1, 0), (3, 1, 0), (4, 2, 2)]);
    }
}
