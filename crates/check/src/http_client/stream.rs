//! Responses that are watched while they come, and left before their end.

use std::time::{Duration, Instant};

use super::{Budget, Exchange, ExchangeError, HttpConnection, Request};

/// How long a response is watched after its first content.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// This long, if it comes in many pieces.
    pub short: Duration,
    /// This long otherwise.
    pub long: Duration,
    /// Arrivals that are enough, of those that are apart from each other.
    pub enough: usize,
    /// How far apart they are at least.
    pub apart: Duration,
    /// Bytes of content that are enough.
    pub content: usize,
}

impl HttpConnection {
    /// Sends one request and watches its response, which comes back incomplete if it goes on for longer. The
    /// connection is then reset, so that the server need not go on.
    ///
    /// # Errors
    ///
    /// If the budget is used up, or no head of a response that can be understood comes in time.
    pub fn watch(
        &mut self,
        request: &Request,
        watch: &Watch,
        budget: &mut Budget,
    ) -> Result<Exchange, ExchangeError> {
        self.keep_content(watch.content);
        let sent = self.send(std::slice::from_ref(request), budget)?;
        self.reader.begin(self.kept);
        let (mut begun, mut seen, mut apart) = (None, 0, 0);
        let ends = loop {
            if self.reader.advance()? {
                break true;
            }
            if let Some(closed) = self.closed {
                match self.reader.close()? {
                    true => break true,
                    false => return Err(ExchangeError::ClosedUnanswered(closed.error)),
                }
            }
            let content = self.reader.draft().content();
            if content > 0 {
                begun.get_or_insert_with(|| self.latest());
            }
            for number in seen..self.arrivals.len() {
                let at = self.arrivals[number].at;
                let before = number.checked_sub(1).map(|before| self.arrivals[before].at);
                apart += usize::from(before.is_none_or(|before| at > before + watch.apart));
            }
            seen = self.arrivals.len();
            let deadline = match begun {
                None => budget.answer_by(sent),
                Some(begun) if apart >= watch.enough => begun + watch.short,
                Some(begun) => begun + watch.long,
            };
            let is_enough = content >= watch.content as u64;
            if is_enough || !self.advance(budget.cap(deadline))? {
                break false;
            }
        };
        if !ends {
            self.persists = false;
            self.abort();
            if !self.reader.draft().has_head() {
                budget.check_time(self.now())?;
                return Err(self.reader.unanswered(self.now() - sent));
            }
        }
        self.finish(sent)
    }

    fn latest(&self) -> Instant {
        self.arrivals.last().map_or_else(|| self.now(), |arrived| arrived.at)
    }
}
