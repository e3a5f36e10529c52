//! Fixed reports for the snapshots of all formats.

use super::Report;
use crate::card::Protocol;
use crate::{
    card::{
        Bound, BuiltIn, ByRequest, Card, CheckId, Finding, IdleRestart, NagleDelayedAck,
        Pipelining, Reason, ReceiverName, ReleasedBy, Role, SendBuffer, ShortInitialSegment,
        SplitHead, StackName, TriedSize, Values, Verdict,
    },
    page_times::PageTimes,
};

/// A user's server with one finding of each verdict.
pub(crate) fn one_card() -> Report {
    let card = Card {
        target: "http://127.0.0.1:8080/".to_owned(),
        protocol: Protocol::Http1,
        role: Role::Server,
        server: None,
        status: Some(200),
        grpc_status: None,
        stack: StackName::Ackwise,
        server_congestion: Some("cubic".to_owned()),
        emulated: None,
        notes: vec![
            "http://127.0.0.1:8080/old redirects to http://127.0.0.1:8080/; that page was checked"
                .to_owned(),
        ],
        findings: vec![
            split_head(),
            short_initial_segment(),
            nagle(),
            idle_restart(),
            send_buffer(),
            pipelining(),
        ],
    };
    Report { cards: vec![card], ..Report::default() }
}

/// What a run without URL prints.
pub(super) fn built_in() -> Report {
    let card = |target: &str, server, findings| Card {
        target: target.to_owned(),
        protocol: Protocol::Http1,
        role: Role::Server,
        server: Some(server),
        status: None,
        grpc_status: None,
        stack: StackName::Kernel,
        server_congestion: None,
        emulated: None,
        notes: vec!["using the kernel's TCP stack: /dev/net/tun is missing".to_owned()],
        findings,
    };
    let joined = Finding {
        verdict: Verdict::Pass,
        summary: "head and body share segments".to_owned(),
        values: SplitHead { split: Some(false), head_bytes: Some(152) }.into(),
        evidence: vec![],
        remedy: None,
        ..split_head()
    };
    let free = Finding {
        verdict: Verdict::Pass,
        cost_ms: Some(0.0),
        summary: "no response waits for the client's ACK (2 sizes tried)".to_owned(),
        values: NagleDelayedAck {
            released_by: Some(ReleasedBy::None),
            sizes: Some(vec![tried(ReleasedBy::None, None)]),
            ..NagleDelayedAck::default()
        }
        .into(),
        evidence: vec![],
        remedy: None,
        ..nagle()
    };
    let (old, new) = (BuiltIn::Paper1996, BuiltIn::Fixed);
    Report {
        cards: vec![
            card(
                "http://127.0.0.1:41996/",
                old,
                vec![split_head(), short_initial_segment(), nagle(), pipelining()],
            ),
            card(
                "http://127.0.0.1:42026/",
                new,
                vec![joined, short_initial_segment(), free, pipelining()],
            ),
        ],
        pages: vec![
            page(old, &[6651, 3883, 1866], [131.2, 131.96, 132.4], None),
            page(old, &[500, 300, 200], [126.0, 127.1, 140.5], None),
            page(new, &[6651, 3883, 1866], [0.2, 0.21, 0.25], None),
            page(new, &[500, 300, 200], [0.11, 0.12, 0.35], Some("the machine was busy")),
        ],
        surprises: vec![],
        baseline: None,
    }
}

fn split_head() -> Finding {
    Finding {
        id: CheckId::SplitHead,
        verdict: Verdict::Warn,
        cost_ms: None,
        summary: "the 152-byte head is sent in its own segment: this costs one more packet per response"
            .to_owned(),
        values: SplitHead { split: Some(true), head_bytes: Some(152) }.into(),
        evidence: vec![
            "0.000000 > 1:75(74) ack 1".to_owned(),
            "0.000132 < 1:153(152) ack 75".to_owned(),
        ],
        remedy: Some(
            "write head and body in one call: use writev, or a buffer that is flushed after the body"
                .to_owned(),
        ),
        reason: None,
    }
}

fn short_initial_segment() -> Finding {
    fact(
        CheckId::ShortInitialSegment,
        Verdict::Unknown,
        "the response was not read to its end",
        ShortInitialSegment::default(),
    )
}

fn nagle() -> Finding {
    Finding {
        id: CheckId::NagleDelayedAck,
        verdict: Verdict::Fail,
        cost_ms: Some(40.17),
        summary:
            "the last segment of a response with a 300-byte body waits 40 ms for the client's \
             delayed ACK in 6 of 6 trials"
                .to_owned(),
        values: NagleDelayedAck {
            released_by: Some(ReleasedBy::Ack),
            cost_ms_40: Some(40.17),
            cost_quartiles_ms: None,
            only_first: Some(false),
            only_same_host: Some(false),
            range_bytes: None,
            receiver: Some(ReceiverName::Linux),
            cost_ms_120: Some(120.3),
            cost_ms_200_computed: Some(200.17),
            sizes: Some(vec![tried(ReleasedBy::Ack, Some(120.3))]),
        }
        .into(),
        evidence: vec![
            "0.000000 > 75:149(74) ack 453".to_owned(),
            "0.000120 < 453:605(152) ack 149".to_owned(),
            "0.040291 > 149:149(0) ack 605".to_owned(),
            "0.040344 < 605:905(300) ack 149".to_owned(),
        ],
        remedy: Some(
            "set TCP_NODELAY on accepted connections, or write each response in one call"
                .to_owned(),
        ),
        reason: None,
    }
}

fn send_buffer() -> Finding {
    fact(
        CheckId::SendBuffer,
        Verdict::Pass,
        "2588 KB in flight, limited by the client's window",
        SendBuffer { flight_bytes: Some(2_588_672), bound: Some(Bound::Window) },
    )
}

fn idle_restart() -> Finding {
    fact(
        CheckId::IdleRestart,
        Verdict::NotApplicable,
        "needs a response of 58400 bytes (the largest seen has 905): add a larger page with --paths",
        IdleRestart::default(),
    )
}

fn pipelining() -> Finding {
    fact(
        CheckId::Pipelining,
        Verdict::Pass,
        "two requests in one segment both get correct responses in order",
        Pipelining { ok: Some(true) },
    )
}

fn fact(id: CheckId, verdict: Verdict, summary: &str, values: impl Into<Values>) -> Finding {
    let (summary, values) = (summary.to_owned(), values.into());
    Finding {
        id,
        verdict,
        cost_ms: None,
        summary,
        values,
        evidence: vec![],
        remedy: None,
        reason: (verdict == Verdict::Unknown).then_some(Reason::NoAnswer),
    }
}

fn tried(released_by: ReleasedBy, stall_ms: Option<f64>) -> TriedSize {
    let held = released_by == ReleasedBy::Ack;
    TriedSize {
        by_request: (1..=2)
            .map(|request| ByRequest { asked: 2, held: if held { 2 } else { 0 }, request })
            .collect(),
        bytes: 300,
        path: "/".to_owned(),
        receiver: held.then_some(ReceiverName::Linux),
        released_by: Some(released_by),
        stall_ms,
    }
}

fn page(
    server: BuiltIn,
    documents: &[u32],
    [low, median_ms, high]: [f64; 3],
    doubt: Option<&str>,
) -> PageTimes {
    PageTimes {
        server,
        documents: documents.to_vec(),
        pages: 20,
        median_ms,
        quartiles_ms: [low, high],
        doubt: doubt.map(str::to_owned),
    }
}
