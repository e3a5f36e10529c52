//! `refused-upload`: a server that answers an upload before its end (413) reads the rest only to throw it away. RFC 9112,
//! section 9.5: "If the client sees a response that indicates the server does not wish to receive the message body and
//! is closing the connection, the client SHOULD immediately cease transmitting the body and close its side of the
//! connection."
//!
//! In HTTP/2 the server adds RST_STREAM with NO_ERROR (RFC 9113, section 8.1), and the connection goes on.
//!
//! What was in buffers when the response arrived is sent anyway, so only a large upload can tell.

use ackwise_cause::Remedy;
use ackwise_text::words::grouped;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        observed::{Content, Observed},
        runs::Runs,
        script::Script,
    },
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "refused-upload",
        "whether a client stops an upload when the server answers early (413)",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "read while sending, and stop when a final response arrives (RFC 9112, section 9.5)",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: None }),
};

/// Values of `refused-upload`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RefusedUpload {
    /// Bytes of content that the client announced; null if it announced none.
    pub announced: Option<u64>,
    /// Bytes of content that it sent all the same.
    pub sent: Option<u64>,
    /// Whether it ended its connection without sending the rest.
    pub stopped: Option<bool>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    Ok(judge(&runs.run(Script::RefusesUploads, 0)?))
}

fn judge(run: &Observed) -> Judged {
    let uploads = || run.connections.iter().flat_map(|it| it.requests.iter().map(move |r| (it, r)));
    let Some((connection, upload)) = uploads().find(|(_, it)| it.content != Content::None) else {
        return Judged::not_applicable(NEEDS);
    };
    let announced = match upload.content {
        Content::Length(length) => Some(length),
        Content::Unknown | Content::None => None,
    };
    let sent = upload.content_bytes;
    let values = |stopped| RefusedUpload { announced, sent: Some(sent), stopped };
    let is_small = announced.unwrap_or(sent) < LARGE;
    let rest = announced.is_none_or(|length| sent < length);
    let shown = format!("{} bytes", grouped(sent));
    match (connection.ended, rest) {
        _ if upload.expects && sent == 0 => Judged::new(
            Verdict::Pass,
            "sends none of an upload that the server refuses instead of sending 100 (Continue)",
            values(Some(true)),
        ),
        // The rest may have been on its way before the refusal.
        _ if announced.is_some() && is_small => Judged::not_applicable(NEEDS),
        (Some(_), true) if announced.is_some() => Judged::new(
            Verdict::Pass,
            format!("stops an upload after {shown} when the server refuses it"),
            values(Some(true)),
        ),
        // Where chunks end is not looked for, so this may be the whole upload.
        (Some(_), _) | (None, false) if is_small => Judged::not_applicable(NEEDS),
        (_, false) => Judged::new(
            Verdict::Warn,
            format!("sends all {shown} of an upload that the server has refused"),
            values(Some(false)),
        ),
        // What is cut off by a limit is not stopped.
        _ => Judged::unknown(Reason::Limit, format!("the upload had not ended after {shown}")),
    }
}

const NEEDS: &str = "needs an upload of at least 4 MB: let COMMAND send one";

/// More than buffers hold: Linux lets a sender have 4 MB at most (`net.ipv4.tcp_wmem`).
const LARGE: u64 = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::{
        Connection, Request,
        sample::{connection, get, run},
    };

    #[test]
    fn only_a_large_upload_can_tell() {
        let upload = |length, sent| Request {
            content: Content::Length(length),
            content_bytes: sent,
            ..get(1)
        };
        let ended = |request| connection(0, vec![request]);
        let open = |request| Connection { ended: None, ..ended(request) };
        let expects = Request { expects: true, ..upload(2_000, 0) };
        let chunked = |sent| Request { content: Content::Unknown, ..upload(0, sent) };
        for (connection, verdict) in [
            (ended(get(1)), Verdict::NotApplicable),
            (ended(upload(2_000, 2_000)), Verdict::NotApplicable),
            (ended(upload(9_000_000, 200_000)), Verdict::Pass),
            (ended(upload(9_000_000, 9_000_000)), Verdict::Warn),
            (open(upload(9_000_000, 5_000_000)), Verdict::Unknown),
            (ended(chunked(9_000_000)), Verdict::Unknown),
            (ended(chunked(9_000)), Verdict::NotApplicable),
            (ended(expects), Verdict::Pass),
        ] {
            assert_eq!(judge(&run(vec![connection.clone()])).verdict, verdict, "{connection:?}");
        }
    }
}
