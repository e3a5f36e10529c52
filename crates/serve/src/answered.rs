//! What a request is answered with, whoever answers it.

use std::time::Duration;

use ackwise_http::ResponseBuilder;

use crate::content::Content;

/// A reply before the fields that say whether the connection persists.
pub(crate) struct Answered {
    pub(crate) head: ResponseBuilder,
    pub(crate) content: Content,
    pub(crate) parsed_in: Option<Duration>,
}

impl Answered {
    /// With `content`, whose length the head says.
    pub(crate) fn with(head: ResponseBuilder, content: Content) -> Self {
        let head = head.field("Content-Length", content.length().to_string());
        Self { head, content, parsed_in: None }
    }

    /// Without content.
    pub(crate) fn empty(head: ResponseBuilder) -> Self {
        Self::with(head, Content::EMPTY)
    }
}
