//! The messages of one direction of a tunnel or a stream: counted, and those that a sender's TCP held.

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_tcp::{Instant, policy::HoldPolicy};

use super::{
    message_hold::{MessageDeparture, Way},
    samples::Samples,
};
use crate::{
    attribution::{Confidence, Evidence, TickRecord},
    conversation::MessageNews,
    message_counts::{HeldMessages, MessageCounts, MessageGaps},
};

/// What is known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageWatch {
    messages: u64,
    control: u64,
    undivided: bool,
    /// When the first message ended, and the last one.
    first_end: Option<Instant>,
    last_end: Option<Instant>,
    gaps: Samples,
    /// By cause: there are three.
    held: Vec<HeldMessages>,
    /// The same, of those that may have been written just when they left.
    unsure: Vec<HeldMessages>,
    /// Of departures that the algorithm would hold: those with an acknowledgement, and those that nothing released.
    likely: [u32; 2],
    /// The message that is under way was held.
    counted: bool,
    ticks: TickRecord,
    /// Messages that a cork may have held, by when they left, and which packets show the last.
    at_ticks: u64,
    shown_by: Option<Evidence>,
}

impl MessageWatch {
    /// Bytes that one takes in memory, mostly.
    pub(super) const USUAL: usize = size_of::<Self>() + 4 * size_of::<HeldMessages>() + 512;

    /// Data has left so, and this is what it holds.
    pub(super) fn note(
        &mut self,
        news: MessageNews,
        departure: Option<&MessageDeparture>,
        now: Instant,
    ) {
        self.messages += u64::from(news.ended);
        self.control += u64::from(news.control);
        if news.ended > 0 {
            self.note_ends(news.ended, now);
        }
        if let Some(departure) = departure.filter(|_| news.touched() > 0) {
            self.note_departure(news, departure);
        }
        let is_same = news.begun == 0 && news.ended == 0;
        self.counted &= is_same || departure.is_some_and(|it| matches!(it.way, Way::Held { .. }));
        self.counted &= news.touched() > news.ended;
        if news.lost {
            // When the next message ends, nobody knows.
            (self.undivided, self.last_end) = (true, None);
        }
    }

    fn note_ends(&mut self, ended: u32, now: Instant) {
        if let Some(last) = self.last_end.replace(now) {
            self.gaps.add(now.saturating_since(last));
        }
        self.first_end.get_or_insert(now);
        self.gaps.add_times(Duration::ZERO, ended - 1);
    }

    fn note_departure(&mut self, news: MessageNews, departure: &MessageDeparture) {
        let counted = u32::from(news.continues && self.counted);
        let messages = u64::from(news.touched().saturating_sub(counted));
        if news.continues || news.touched() >= SEVERAL {
            self.note_likely(departure);
        }
        if let Some(held) = departure.held(messages) {
            let is_likely = news.continues || news.touched() >= SEVERAL;
            self.counted = true;
            match departure.is_sure() {
                true => add(&mut self.held, &held),
                false if is_likely => add(&mut self.unsure, &held),
                false => {}
            }
        }
        match departure.way {
            _ if departure.may_end_cork() => {
                self.ticks.note(departure.at);
                self.at_ticks += messages;
                self.shown_by = Some(departure.evidence);
            }
            Way::InBurst => {}
            Way::Written | Way::Held { .. } | Way::Other => self.ticks.refute(),
        }
    }

    /// What the algorithm would hold if its sender uses it left so: several messages, which it collects, or what goes on
    /// with one.
    const fn note_likely(&mut self, departure: &MessageDeparture) {
        match departure.way {
            Way::Held { .. } => self.likely[0] = self.likely[0].saturating_add(1),
            Way::Written => self.likely[1] = self.likely[1].saturating_add(1),
            Way::InBurst | Way::Other => {}
        }
    }

    /// Whether no message has ended.
    pub(super) const fn has_none(&self) -> bool {
        self.messages == 0
    }

    /// When the first message had been seen whole.
    pub(super) const fn first_end(&self) -> Option<Instant> {
        self.first_end
    }

    /// All there is to say.
    pub(super) fn counts(&self) -> MessageCounts {
        let gaps = self.gaps.percentiles([50, 99]).map(|it| MessageGaps::new(it.2));
        let mut held = self.held.clone();
        let [on_ack, otherwise] = self.likely;
        // A program that pauses for as long as an acknowledgement takes does not leave with it twice of three times. Our choice.
        if on_ack > otherwise.saturating_mul(2) {
            self.unsure.iter().for_each(|it| add(&mut held, it));
        }
        held.extend(self.corked());
        let Self { messages, control, undivided, .. } = *self;
        MessageCounts { messages, control, gaps, held: held.into(), undivided }
    }

    /// Those that only a cork's timer explains, by when they left. A relay of corked messages leaves so, too.
    fn corked(&self) -> Option<HeldMessages> {
        let evidence = self.shown_by.filter(|_| self.ticks.shows_timer())?;
        let times = self.ticks.departures();
        let [shortest, longest] = [HoldPolicy::LINUX_CORK_RELEASE; 2];
        let total = shortest.saturating_mul(times);
        let held =
            HeldMessages::once(Cause::CorkTimer, self.at_ticks, shortest, Confidence::Medium);
        Some(HeldMessages { times: times.into(), total, longest, evidence, ..held })
    }
}

/// Adds to those with the same cause.
fn add(sums: &mut Vec<HeldMessages>, held: &HeldMessages) {
    match sums.iter_mut().find(|it| it.cause == held.cause) {
        Some(sum) => sum.add(held),
        None => sums.push(*held),
    }
}

/// Messages in one segment that nobody writes together by chance, again and again. Our choice.
const SEVERAL: u32 = 2;

#[cfg(test)]
mod tests {
    use ackwise_cause::Direction;

    use super::*;
    use crate::attribution::{
        Nanos,
        gap::tests::{HELD, at},
    };

    const NEWS: MessageNews =
        MessageNews { continues: false, begun: 1, ended: 1, control: 0, lost: false };

    fn departure(way: Way) -> MessageDeparture {
        let (direction, quiet) = (Direction::ToClient, Nanos::ZERO);
        MessageDeparture { at: at(70), direction, quiet, evidence: HELD.evidence, way }
    }

    const fn held(confidence: Confidence) -> Way {
        Way::Held { cause: Cause::NagleRtt, time: Duration::from_millis(40), confidence }
    }

    /// How many messages were held, after these segments.
    fn messages(segments: &[(MessageNews, Way)]) -> u64 {
        let mut watch = MessageWatch::default();
        for (news, way) in segments {
            watch.note(*news, Some(&departure(*way)), at(70));
        }
        watch.counts().held.iter().map(|it| it.messages).sum()
    }

    #[test]
    fn a_message_that_is_held_several_times_is_one() {
        let sure = held(Confidence::Medium);
        let begins = MessageNews { ended: 0, ..NEWS };
        let goes_on = MessageNews { continues: true, begun: 0, ended: 0, ..NEWS };
        let ends = MessageNews { ended: 1, ..goes_on };
        for (why, segments, expected) in [
            ("one", &[(NEWS, sure)][..], 1),
            ("two", &[(NEWS, sure), (NEWS, sure)], 2),
            ("its beginning and its end", &[(begins, sure), (ends, sure)], 1),
            ("its middle, too", &[(begins, sure), (goes_on, sure), (ends, sure)], 1),
            (
                "its end, and the next",
                &[(begins, sure), (MessageNews { begun: 1, ..ends }, sure)],
                2,
            ),
            (
                "its middle, which was not",
                &[(begins, sure), (goes_on, Way::Written), (ends, sure)],
                1,
            ),
            (
                "its beginning, and what its program wrote ended it",
                &[(begins, sure), (ends, Way::Written), (goes_on, sure)],
                2,
            ),
            ("its end alone", &[(begins, Way::InBurst), (ends, sure)], 1),
            ("another after its end", &[(begins, sure), (ends, sure), (begins, sure)], 2),
            ("no message", &[(MessageNews { begun: 0, ended: 0, ..NEWS }, sure)], 0),
        ] {
            assert_eq!(messages(segments), expected, "{why}");
        }
    }

    #[test]
    fn what_different_causes_held_is_not_added_up() {
        let held = |cause, millis| {
            let time = Duration::from_millis(millis);
            Way::Held { cause, time, confidence: Confidence::Medium }
        };
        let mut watch = MessageWatch::default();
        for way in
            [held(Cause::NagleRtt, 40), held(Cause::CorkTimer, 200), held(Cause::NagleRtt, 10)]
        {
            watch.note(NEWS, Some(&departure(way)), at(70));
        }
        let found: Vec<_> = watch
            .counts()
            .held
            .iter()
            .map(|it| (it.cause, it.messages, it.total.as_millis()))
            .collect();
        assert_eq!(found, [(Cause::NagleRtt, 2, 50), (Cause::CorkTimer, 1, 200)]);
    }

    /// A program that pauses does not leave with an acknowledgement twice of three times.
    #[test]
    fn what_may_have_been_written_just_then_counts_if_most_leave_with_an_acknowledgement() {
        let (low, written) = (held(Confidence::Low), Way::Written);
        let two = MessageNews { begun: 2, ended: 2, ..NEWS };
        let rest = MessageNews { continues: true, begun: 0, ..NEWS };
        for (why, segments, expected) in [
            ("several", &[(two, low)][..], 2),
            ("the rest of one", &[(rest, low)], 1),
            ("one may be its program's", &[(NEWS, low)], 0),
            ("three of four", &[(two, low), (two, low), (two, low), (two, written)], 6),
            ("two of three", &[(two, low), (two, low), (two, written)], 0),
            ("what its program wrote alone", &[(two, low), (NEWS, written)], 2),
        ] {
            assert_eq!(messages(segments), expected, "{why}");
        }
    }

    #[test]
    fn what_ends_is_counted_and_timed_until_nobody_knows() {
        let mut watch = MessageWatch::default();
        watch.note(MessageNews { ended: 0, ..NEWS }, None, at(1));
        assert!(watch.has_none() && watch.first_end().is_none());
        let two = MessageNews { ended: 2, control: 3, ..NEWS };
        watch.note(two, None, at(10));
        watch.note(NEWS, None, at(30));
        assert_eq!(watch.first_end(), Some(at(10)));
        let counts = watch.counts();
        assert_eq!((counts.messages, counts.control, counts.undivided), (3, 3, false));
        assert!(counts.gaps.is_some());
        watch.note(MessageNews { ended: 0, lost: true, ..NEWS }, None, at(40));
        assert!(watch.counts().undivided && watch.last_end.is_none());
    }
}
