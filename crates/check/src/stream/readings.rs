//! The readings of one stream, each by another client, and which of them are needed.

use std::time::Duration;

use ackwise_cause::Software;

use super::read::read;
use super::{record::Record, trial::Trial};
use crate::{
    http_client::{Client, ExchangeError, Page},
    verdict::Reason,
};

type Reading = Result<Record, ExchangeError>;

/// Which readings are wanted beside the first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Wanted {
    /// With late ACKs, and with small segments.
    pub(crate) delays: bool,
    /// With compression.
    pub(crate) gzip: bool,
}

/// What several clients got of one stream.
pub(crate) struct Readings {
    /// With every segment acknowledged at once.
    pub(crate) prompt: Record,
    /// With ACKs as late as the stack can have them.
    pub(crate) longest: Reading,
    /// With ACKs not as late, if something followed the late ones.
    pub(crate) shorter: Option<Reading>,
    /// With small segments, if events come several at once.
    pub(crate) small: Option<Reading>,
    /// With compression, if that is asked about.
    pub(crate) gzip: Option<Reading>,
    pub(crate) software: Option<Software>,
}

impl Readings {
    /// Reads the stream again, after `prompt`.
    pub(crate) fn after(
        prompt: Record,
        client: &mut Client,
        page: &Page,
        software: Option<Software>,
        wanted: Wanted,
    ) -> Self {
        let mut reader = Reader { client, page, begins: prompt.begins_after().unwrap_or_default() };
        let nothing = || Err(ExchangeError::Silent(Duration::ZERO));
        let mut readings =
            Self { prompt, longest: nothing(), shorter: None, small: None, gzip: None, software };
        if readings.prompt.is_in_one_piece() {
            return readings;
        }
        if wanted.delays {
            let fills = readings.prompt.fills_segment_in();
            let most = reader.client.capabilities().longest_delay;
            let [longest, shorter] = delays(fills.map_or(most, |it| most.min(it.max(DELAYS[1]))));
            readings.longest = reader.read(Trial::delayed(longest));
            if readings.longest.as_ref().is_ok_and(|it| !it.by_ack().is_free()) {
                readings.shorter = Some(reader.read(Trial::delayed(shorter)));
            }
            if readings.prompt.together() > 1 {
                readings.small = Some(reader.read(Trial::SMALL));
            }
        }
        if wanted.gzip && reader.may_ask_for_gzip() {
            readings.gzip = Some(reader.read(Trial::GZIP));
        }
        readings
    }

    /// Why it could not be told whether a cork holds events.
    pub(crate) fn why_not(&self) -> Reason {
        match &self.small {
            Some(Err(error)) => error.reason(),
            _ => Reason::Limit,
        }
    }
}

struct Reader<'a> {
    client: &'a mut Client,
    page: &'a Page,
    /// How long the first reading waited for content.
    begins: Duration,
}

impl Reader<'_> {
    fn read(&mut self, trial: Trial) -> Reading {
        let (all, now) = (self.client.budget.clone(), self.client.now());
        let lent = all.lend(1, self.begins + trial.patience + LATER, now);
        self.client.budget = lent.clone();
        let reading = read(trial, self.client, self.page);
        self.client.budget = all.settle(&lent, &self.client.budget);
        reading
    }

    /// gRPC compresses its messages, and who says what to accept wants that alone.
    fn may_ask_for_gzip(&self) -> bool {
        let template = self.client.template();
        let says = |(name, _): &(String, String)| name.eq_ignore_ascii_case("Accept-Encoding");
        !template.is_grpc() && !template.fields.iter().any(says)
    }
}

/// The two ACK delays: 120 and 40 ms, or as much as the stack can do and as leaves room in a segment, since full ones do
/// not wait, and somewhat less.
fn delays(longest: Duration) -> [Duration; 2] {
    match longest >= DELAYS[0] {
        true => DELAYS,
        false => [longest, longest.mul_f64(LESS)],
    }
}

/// As for all checks: 40 ms is Linux's.
const DELAYS: [Duration; 2] = [Duration::from_millis(120), Duration::from_millis(40)];

/// Our choice: far enough from the other delay to tell the two apart, and longer than between the tokens of most models.
const LESS: f64 = 0.8;

/// How much later than the first a further reading may begin. Our choice.
const LATER: Duration = Duration::from_secs(1);
