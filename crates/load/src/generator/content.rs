//! What the content of a response must be: any, always the same, or that with a known hash; and the
//! size that was asked for.

use super::{
    Failure, Plan,
    plan::Message,
    planned_connection::{Answer, Hash},
};

/// What the content of the responses must be.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum ContentCheck {
    /// Anything.
    #[default]
    Any,
    /// The same for the same request each time.
    Same,
    /// Content with this SHA-256.
    Sha256([u8; 32]),
}

/// Compares contents.
#[derive(Clone, Debug)]
pub(super) struct Content {
    check: ContentCheck,
    /// The hash of the first response to each request of the plan.
    first: Vec<Option<Hash>>,
}

impl Content {
    pub(super) fn new(check: ContentCheck, requests: usize) -> Self {
        let first = if check == ContentCheck::Same { vec![None; requests] } else { Vec::new() };
        Self { check, first }
    }

    /// What is wrong with the content of the response to `message`.
    pub(super) fn check(
        &mut self,
        message: Message,
        answer: &Answer,
        plan: &Plan,
    ) -> Option<Failure> {
        if let Some(expected) = plan.expected(message).filter(|size| *size != answer.content) {
            return Some(Failure::Size { found: answer.content, expected });
        }
        let hash = answer.hash?;
        let expected = match (self.check, message) {
            (ContentCheck::Sha256(expected), _) => expected,
            (ContentCheck::Same, Message::Request(index) | Message::LastRequest(index)) => {
                *self.first[index].get_or_insert(hash)
            }
            _ => return None,
        };
        (hash != expected).then_some(Failure::Content)
    }
}
