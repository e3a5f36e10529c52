//! `refused-upload`: a server that answers an upload before its end (413) reads the rest only to throw it away. RFC 9112,
//! section 9.5: "If the client sees a response that indicates the server does not wish to receive the message body and
//! is closing the connection, the client SHOULD immediately cease transmitting the body and close its side of the
//! connection."
//!
//! In HTTP/2 the server adds RST_STREAM with NO_ERROR (RFC 9113, section 8.1), and the connection goes on.
//!
//! What was in buffers when the response arrived is sent anyway, so only a large upload can tell.

use ackwise_text::words::grouped;

use super::{
    judged::{judged, not_applicable, unknown},
    observed::{Content, Observed},
};
use crate::card::{Finding, FindingId, Reason, RefusedUpload, Verdict};

const ID: FindingId = FindingId::RefusedUpload;

pub(super) fn judge(run: &Observed) -> Finding {
    let uploads = || run.connections.iter().flat_map(|it| it.requests.iter().map(move |r| (it, r)));
    let Some((connection, upload)) = uploads().find(|(_, it)| it.content != Content::None) else {
        return not_applicable(ID, NEEDS);
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
        _ if upload.expects && sent == 0 => judged(
            ID,
            Verdict::Pass,
            "sends nothing of an upload that is refused instead of a 100 (Continue)",
            values(Some(true)),
        ),
        // The rest may have been on its way before the refusal.
        _ if announced.is_some() && is_small => not_applicable(ID, NEEDS),
        (Some(_), true) if announced.is_some() => judged(
            ID,
            Verdict::Pass,
            format!("stops an upload after {shown} when the server refuses it"),
            values(Some(true)),
        ),
        // Where chunks end is not looked for, so this may be the whole upload.
        (Some(_), _) | (None, false) if is_small => not_applicable(ID, NEEDS),
        (_, false) => judged(
            ID,
            Verdict::Warn,
            format!("sends all {shown} of an upload that the server has refused"),
            values(Some(false)),
        ),
        // What is cut off by a limit is not stopped.
        _ => unknown(ID, Reason::Limit, format!("the upload had not ended after {shown}")),
    }
}

const NEEDS: &str = "needs an upload of at least 4 MB: let COMMAND send one";

/// More than buffers hold: Linux lets a sender have 4 MB at most (`net.ipv4.tcp_wmem`).
const LARGE: u64 = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::observed::{
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
