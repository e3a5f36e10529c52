//! The steps of every plan. `open 1`, `ask 1: 2..3 of 300, close` and `had 1` are a step, a step
//! and a response; a pause is in brackets before the step.

use super::*;
use crate::ConnectionOption;
use alloc::{format, string::String, vec};
use core::fmt::Write;
use proptest::prelude::*;

#[test]
fn a_fetch_is_small() {
    assert!(size_of::<PageFetch>() <= 80, "{}", size_of::<PageFetch>());
}

#[test]
fn plans_take_these_steps() {
    let table: &[(&str, Transfer, &str)] = &[
        (
            "serial",
            Transfer::Serial,
            "[document] open 0; ask 0: 0..1 of 5000, close; had 0;
             [file] open 1; ask 1: 1..2 of 300, close; had 1;
             [file] open 2; ask 2: 2..3 of 0, close; had 2;
             [file] open 3; ask 3: 3..4 of 4000, close; had 3;",
        ),
        (
            "parallel, as many connections as inlines",
            parallel(3),
            "[document] open 0; ask 0: 0..1 of 5000, close; had 0;
             [file] open 1; ask 1: 1..2 of 300, close;
             [gap] open 2; ask 2: 2..3 of 0, close;
             [gap] open 3; ask 3: 3..4 of 4000, close; had 1; had 2; had 3;",
        ),
        (
            "parallel, fewer connections than inlines",
            parallel(2),
            "[document] open 0; ask 0: 0..1 of 5000, close; had 0;
             [file] open 1; ask 1: 1..2 of 300, close;
             [gap] open 2; ask 2: 2..3 of 0, close; had 1;
             [file] open 3; ask 3: 3..4 of 4000, close; had 2; had 3;",
        ),
        (
            "persistent",
            Transfer::Persistent,
            "[document] open 0; ask 0: 0..1 of 5000, keep; had 0;
             [file] ask 0: 1..2 of 300, keep; had 0;
             [file] ask 0: 2..3 of 0, keep; had 0;
             [file] ask 0: 3..4 of 4000, keep; had 0;",
        ),
        (
            "pipelined",
            Transfer::Pipelined,
            "[document] open 0; ask 0: 0..1 of 5000, keep; had 0;
             [file] ask 0: 1..2 of 300, keep; ask 0: 2..3 of 0, keep; ask 0: 3..4 of 4000, keep;
             had 0; had 0; had 0;",
        ),
        (
            "segment-filled",
            segment_filled(1460),
            "[document] open 0; ask 0: 0..1 of 4380, keep; had 0;
             [file] ask 0: 1..4 of 4300, keep; had 0;",
        ),
        (
            "segment-filled, a primary of less than a segment",
            segment_filled(8192),
            "[document] open 0; ask 0: 0..1 of 8192, keep; had 0;
             [file] ask 0: 1..4 of 4300, keep; had 0;",
        ),
        ("GETWEB", Transfer::GetWeb, "[document] open 0; ask 0: 0..4 of 9300, keep; had 0;"),
    ];
    for (name, transfer, expected) in table {
        let fetch = PageFetch::new(*transfer, &three_inlines(), Connections::OfThePage, |_| false);
        assert_eq!(steps(fetch), words(expected), "{name}");
    }
}

#[test]
fn a_kept_connection_needs_no_opening() {
    for (transfer, expected) in [
        (Transfer::GetWeb, "[document] ask 0: 0..4 of 9300, keep; had 0;"),
        (
            Transfer::Pipelined,
            "[document] ask 0: 0..1 of 5000, keep; had 0;
             [file] ask 0: 1..2 of 300, keep; ask 0: 2..3 of 0, keep; ask 0: 3..4 of 4000, keep;
             had 0; had 0; had 0;",
        ),
    ] {
        let fetch = PageFetch::new(transfer, &three_inlines(), ONE_KEPT, |_| false);
        assert_eq!(steps(fetch), words(expected), "{transfer:?}");
    }
}

/// As in a browser: an inline uses the most recently used free connection, and a new one only if
/// none is free; no request asks for a close.
#[test]
fn serial_and_parallel_transfers_take_kept_connections() {
    let serial = "[document] ask 0: 0..1 of 5000, keep; had 0;
        [file] ask 0: 1..2 of 300, keep; had 0;
        [file] ask 0: 2..3 of 0, keep; had 0;
        [file] ask 0: 3..4 of 4000, keep; had 0;";
    let none = "[document] open 0; ask 0: 0..1 of 5000, keep; had 0;
        [file] ask 0: 1..2 of 300, keep; open 1; ask 1: 2..3 of 0, keep;
        [gap] open 2; ask 2: 3..4 of 4000, keep; had 0; had 1; had 2;";
    let two = "[document] ask 1: 0..1 of 5000, keep; had 1;
        [file] ask 1: 1..2 of 300, keep; ask 0: 2..3 of 0, keep;
        open 2; ask 2: 3..4 of 4000, keep; had 1; had 0; had 2;";
    let limited = "[document] ask 1: 0..1 of 5000, keep; had 1;
        [file] ask 1: 1..2 of 300, keep; ask 0: 2..3 of 0, keep; had 1;
        [file] ask 1: 3..4 of 4000, keep; had 0; had 1;";
    for (transfer, open, expected) in [
        (Transfer::Serial, 1, serial),
        (parallel(3), 0, none),
        (parallel(3), 2, two),
        (parallel(2), 2, limited),
    ] {
        let fetch =
            PageFetch::new(transfer, &three_inlines(), Connections::Kept { open }, |_| false);
        assert_eq!(steps(fetch), words(expected), "{transfer:?}, {open} open");
    }
}

#[test]
fn each_kept_connection_may_close_and_the_page_still_arrives() {
    let kept = Connections::Kept { open: 3 };
    let mut fetch = PageFetch::new(parallel(3), &three_inlines(), kept, |_| false);
    let mut log = String::new();
    take(&mut fetch, &mut log);
    fetch.on_close(2);
    take(&mut fetch, &mut log);
    fetch.on_response(1);
    take(&mut fetch, &mut log);
    fetch.on_close(1);
    fetch.on_close(0);
    take(&mut fetch, &mut log);
    let expected = "[document] ask 2: 0..1 of 5000, keep; ask 1: 0..1 of 5000, keep;
        [file] ask 1: 1..2 of 300, keep; ask 0: 2..3 of 0, keep; open 3; ask 3: 3..4 of 4000, keep;
        [gap] open 4; ask 4: 1..2 of 300, keep; [gap] open 5; ask 5: 2..3 of 0, keep;";
    assert_eq!(words(&log), words(expected));
    for connection in [5, 3, 4] {
        fetch.on_response(connection);
    }
    assert!(fetch.is_complete() && !fetch.has_failed());
}

#[test]
fn a_page_without_inlines_is_its_primary() {
    let page = Page { primary: 2000, inlines: vec![] };
    for transfer in ALL {
        let says = if transfer.has_a_connection_for_each_file() { "close" } else { "keep" };
        let bytes = if transfer == segment_filled(1460) { 1460 } else { 2000 };
        let fetch = PageFetch::new(transfer, &page, Connections::OfThePage, |_| false);
        let expected = format!("[document] open 0; ask 0: 0..1 of {bytes}, {says}; had 0;");
        assert_eq!(steps(fetch), words(&expected), "{transfer:?}");
    }
}

/// A conditional request costs a round trip, and its answer has no body.
#[test]
fn validated_files_are_asked_for_and_not_sent() {
    #[rustfmt::skip]
    let table: &[(&[usize], Transfer, &str)] = &[
        (&[1, 2],       Transfer::GetWeb,     "[document] open 0; ask 0: 0..4 of 9000, keep; had 0;"),
        (&[0, 1, 2, 3], Transfer::GetWeb,     "[document] open 0; ask 0: 0..4 of 0, keep; had 0;"),
        (&[0, 3],       segment_filled(1000), "[document] open 0; ask 0: 0..1 of 0, keep; had 0;
                                               [file] ask 0: 1..4 of 300, keep; had 0;"),
        (&[0, 3],       Transfer::Persistent, "[document] open 0; ask 0: 0..1 of 0, keep; had 0;
                                               [file] ask 0: 1..2 of 300, keep; had 0;
                                               [file] ask 0: 2..3 of 0, keep; had 0;
                                               [file] ask 0: 3..4 of 0, keep; had 0;"),
    ];
    for (known, transfer, expected) in table {
        let copy = |file| {
            if known.contains(&file) { LocalCopy::Validated } else { LocalCopy::None }
        };
        let fetch = PageFetch::new(*transfer, &three_inlines(), Connections::OfThePage, copy);
        assert_eq!(steps(fetch), words(expected), "{transfer:?}");
    }
}

#[test]
fn cached_files_are_not_asked_for() {
    #[rustfmt::skip]
    let table: &[(&[usize], Transfer, &str)] = &[
        (&[1, 2], Transfer::GetWeb,     "[document] open 0; ask 0: 0..4 of 9000, keep; had 0;"),
        (&[0],    Transfer::GetWeb,     "[document] open 0; ask 0: 0..4 of 4300, keep; had 0;"),
        (&[2],    segment_filled(1000), "[document] open 0; ask 0: 0..1 of 5000, keep; had 0;
                                         [file] ask 0: 1..4 of 4300, keep; had 0;"),
        (&[0],    segment_filled(1000), "[document] open 0; ask 0: 1..4 of 4300, keep; had 0;"),
        (&[1, 3], Transfer::Persistent, "[document] open 0; ask 0: 0..1 of 5000, keep; had 0;
                                         [file] ask 0: 2..3 of 0, keep; had 0;"),
        // If the primary is cached, the inlines are known at once.
        (&[0, 2], Transfer::Pipelined,  "[document] open 0; ask 0: 1..2 of 300, keep;
                                         ask 0: 3..4 of 4000, keep; had 0; had 0;"),
        (&[0, 2], parallel(2),          "[document] open 0; ask 0: 1..2 of 300, close;
                                         [gap] open 1; ask 1: 3..4 of 4000, close; had 0; had 1;"),
    ];
    for (cached, transfer, expected) in table {
        let cached = |file| cached.contains(&file);
        let fetch = PageFetch::new(*transfer, &three_inlines(), Connections::OfThePage, cached);
        assert_eq!(steps(fetch), words(expected), "{transfer:?}");
    }
    for transfer in ALL {
        let fetch = PageFetch::new(transfer, &three_inlines(), Connections::OfThePage, |_| true);
        assert!(fetch.is_complete(), "{transfer:?}: there is nothing to fetch");
        assert_eq!(steps(fetch), words(""));
    }
}

#[test]
fn parallel_responses_complete_in_any_order() {
    let page = three_inlines();
    let mut fetch = PageFetch::new(parallel(3), &page, Connections::OfThePage, |_| false);
    let mut log = String::new();
    take(&mut fetch, &mut log);
    fetch.on_response(0);
    take(&mut fetch, &mut log);
    for connection in [3, 1, 1, 7, 2] {
        assert!(!fetch.is_complete());
        fetch.on_response(connection); // Connections 1 and 7 have no outstanding request.
        assert_eq!(fetch.poll(), None);
    }
    assert!(fetch.is_complete() && !fetch.has_failed());
}

#[test]
fn what_a_proven_connection_owes_is_asked_for_on_another() {
    let page = three_inlines();
    let mut fetch = PageFetch::new(Transfer::Pipelined, &page, ONE_KEPT, |_| false);
    let mut log = String::new();
    fetch.on_close(0); // Idle timeout.
    take(&mut fetch, &mut log);
    fetch.on_response(1);
    take(&mut fetch, &mut log);
    fetch.on_response(1);
    fetch.on_close(1);
    take(&mut fetch, &mut log);
    fetch.on_response(2);
    fetch.on_response(2);
    take(&mut fetch, &mut log);
    let expected = "[document] open 1; ask 1: 0..1 of 5000, keep;
        [file] ask 1: 1..2 of 300, keep; ask 1: 2..3 of 0, keep; ask 1: 3..4 of 4000, keep;
        [file] open 2; ask 2: 2..3 of 0, keep; ask 2: 3..4 of 4000, keep;";
    assert_eq!(words(&log), words(expected));
    assert!(fetch.is_complete() && !fetch.has_failed());
}

#[test]
fn a_connection_that_closes_after_its_response_changes_nothing() {
    for transfer in [Transfer::Serial, parallel(2)] {
        let page = three_inlines();
        let mut fetch = PageFetch::new(transfer, &page, Connections::OfThePage, |_| false);
        let mut log = String::new();
        for connection in 0..4 {
            take(&mut fetch, &mut log);
            fetch.on_response(connection);
            fetch.on_close(connection);
        }
        assert!(fetch.is_complete() && !fetch.has_failed(), "{transfer:?}");
    }
}

#[test]
fn a_server_that_closes_unanswered_fails_the_page() {
    for transfer in ALL {
        for first in [Connections::OfThePage, ONE_KEPT] {
            let mut fetch = PageFetch::new(transfer, &three_inlines(), first, |_| false);
            let mut log = String::new();
            for connection in 0..2 {
                take(&mut fetch, &mut log);
                fetch.on_close(connection);
            }
            assert!(fetch.has_failed() && !fetch.is_complete(), "{transfer:?}, {first:?}");
            assert_eq!(fetch.poll(), None);
        }
    }
}

proptest! {
    /// Connection numbers are small, so that many of them exist.
    #[test]
    fn whatever_a_server_does_a_fetch_ends(
        transfer in prop::sample::select(&ALL[..]),
        kept in prop::option::of(0..7_u32),
        inlines in prop::collection::vec(0..10_u64, 0..8),
        cached: [bool; 9],
        happenings in prop::collection::vec((any::<bool>(), 0..12_u32), 0..40),
    ) {
        let files = 1 + inlines.len();
        let page = Page { primary: 1, inlines };
        let first = kept.map_or(Connections::OfThePage, |open| Connections::Kept { open });
        let mut fetch = PageFetch::new(transfer, &page, first, |file| cached[file]);
        let mut log = String::new();
        let mut asked = take(&mut fetch, &mut log).len();
        for (response, connection) in happenings {
            if response { fetch.on_response(connection) } else { fetch.on_close(connection) }
            asked += take(&mut fetch, &mut log).len();
        }
        while let (false, Some(open)) = (fetch.has_failed(), (0..30).find(|&it| owes(&fetch, it))) {
            fetch.on_response(open);
            take(&mut fetch, &mut log);
        }
        prop_assert!(fetch.is_complete() != fetch.has_failed(), "{fetch:?}");
        // A new connection yields a response, or the page fails along with the others in progress.
        prop_assert!(log.matches("open").count() <= files + MOST_AT_ONCE, "{log}");
        let kept = kept.unwrap_or(0) as usize;
        prop_assert!(asked <= files * (files + MOST_AT_ONCE + kept), "{log}");
    }
}

/// Whether a response is awaited on `connection`.
fn owes(fetch: &PageFetch, connection: u32) -> bool {
    let before = format!("{fetch:?}");
    let mut fetch = fetch.clone();
    fetch.on_response(connection);
    format!("{fetch:?}") != before
}

/// Limit on concurrent connections with a request each.
const MOST_AT_ONCE: usize = 4;

const ALL: [Transfer; 6] = [
    Transfer::Serial,
    parallel(4),
    Transfer::Persistent,
    Transfer::Pipelined,
    segment_filled(1460),
    Transfer::GetWeb,
];

fn three_inlines() -> Page {
    Page { primary: 5000, inlines: vec![300, 0, 4000] }
}

const ONE_KEPT: Connections = Connections::Kept { open: 1 };

const fn parallel(connections: u16) -> Transfer {
    Transfer::Parallel { connections: NonZeroU16::new(connections).unwrap() }
}

const fn segment_filled(segment: u32) -> Transfer {
    Transfer::SegmentFilled { segment: NonZeroU32::new(segment).unwrap() }
}

/// All steps; the oldest outstanding response arrives when no other step is possible.
fn steps(mut fetch: PageFetch) -> Vec<String> {
    let mut log = String::new();
    let mut owing = Vec::new();
    loop {
        owing.extend(take(&mut fetch, &mut log));
        if owing.is_empty() {
            break;
        }
        let connection = owing.remove(0);
        fetch.on_response(connection);
        write!(log, "had {connection}; ").unwrap();
    }
    assert!(fetch.is_complete() && !fetch.has_failed());
    words(&log)
}

/// Takes all available steps, and returns the connections of their requests.
fn take(fetch: &mut PageFetch, log: &mut String) -> Vec<u32> {
    let mut asked = Vec::new();
    while let Some(step) = fetch.poll() {
        let (Step::Open { pause, .. } | Step::Request { pause, .. }) = &step;
        log.push_str(match pause {
            Pause::None => "",
            Pause::Document => "[document] ",
            Pause::File => "[file] ",
            Pause::OpenGap => "[gap] ",
        });
        match step {
            Step::Open { connection, .. } => write!(log, "open {connection}; "),
            Step::Request { connection, files, response, option, .. } => {
                asked.push(connection);
                let option = match option {
                    ConnectionOption::Close => "close",
                    ConnectionOption::KeepAlive => "keep",
                };
                write!(log, "ask {connection}: {files:?} of {response}, {option}; ")
            }
        }
        .unwrap();
    }
    asked
}

/// The steps one by one, independent of white space.
fn words(steps: &str) -> Vec<String> {
    let steps = steps.split(';').map(|step| step.split_whitespace().collect::<Vec<_>>().join(" "));
    steps.filter(|step| !step.is_empty()).collect()
}
