//! What a user does next, without a world: each line is a time in milliseconds and an action.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]
#![expect(clippy::panic, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::{
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use ackwise_http::{
    Behaviour,
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_link::Seed;
use ackwise_sim::{
    measure::Progress,
    scenario::{ApplicationKind, Closer, Connections, Web},
    user::{Action, User},
};
use ackwise_tcp::Instant;
use scenarios::ethernet;

fn web(transfer: Transfer, connections: Connections) -> Web {
    let scenario = ethernet(transfer, Behaviour::FIXED);
    let ApplicationKind::Web(web) = scenario.applications[0].kind.clone() else {
        panic!("the Ethernet's users fetch pages")
    };
    let think = Span::Fixed(Duration::from_secs(10));
    Web { connections, pages: NonZeroU32::new(2), think, ..web }
}

const fn millis(at: u64) -> Instant {
    Instant::from_nanos(at * 1_000_000)
}

/// Polls until the user waits, and opens each connection that it asks for under the next letter.
fn acts(user: &mut User<'_, char>, letters: &mut impl Iterator<Item = char>, at: u64) -> String {
    let mut log = Vec::new();
    while let Some(action) = user.poll(millis(at)) {
        log.push(match action {
            Action::Page => {
                user.begin_page(|connection| connection != 'b', millis(at));
                "page".to_owned()
            }
            Action::Open { slot } => match letters.next().unwrap() {
                '-' => {
                    user.handle_not_opened(slot, millis(at));
                    "not opened".to_owned()
                }
                letter => {
                    user.handle_opened(slot, letter);
                    format!("open {letter}")
                }
            },
            Action::Request(request) => {
                user.ask(&request);
                format!("{} on {}", request.first_file, request.connection)
            }
            Action::Wake { at } => format!("wake {}", at.as_nanos() / 1_000_000),
            Action::Document(it) => format!("{} files in {} ms", it.files, it.time.as_millis()),
            Action::Close { connection, by: Closer::Client } => format!("close {connection}"),
            Action::Close { connection, by } => format!("close {connection} by {by:?}"),
            Action::Reset { connection } => format!("reset {connection}"),
            Action::Finished => "finished".to_owned(),
        });
    }
    log.join(", ")
}

#[test]
fn a_kept_connection_carries_the_next_page_unless_it_is_closed() {
    let connections = NonZeroU16::new(2).unwrap();
    let web = web(Transfer::Parallel { connections }, Connections::Kept);
    let mut user = User::new(&web, Seed(1).stream(), millis(5), Duration::ZERO);
    let mut letters = 'a'..='z';
    assert_eq!(user.progress(), Progress::NotStarted);
    user.handle_timeout(millis(4));
    assert_eq!(acts(&mut user, &mut letters, 4), "");
    user.handle_timeout(millis(5));
    assert_eq!(acts(&mut user, &mut letters, 5), "page, open a, 0 on a");
    user.handle_response('a', 1, 6_651);
    assert_eq!(acts(&mut user, &mut letters, 105), "1 on a, open b, 2 on b");
    assert_eq!(user.progress(), Progress::NoDocument);
    user.handle_response('b', 1, 1_866);
    assert_eq!(acts(&mut user, &mut letters, 205), "");
    user.handle_response('a', 1, 3_883);
    // It thinks; the predicate of `acts` then says that b is closed.
    assert_eq!(acts(&mut user, &mut letters, 305), "3 files in 300 ms, page, wake 10305");
    assert_eq!(user.progress(), Progress::Documents);
    user.handle_timeout(millis(10_305));
    assert_eq!(acts(&mut user, &mut letters, 10_305), "0 on a");
    user.handle_response('a', 1, 6_651);
    assert_eq!(acts(&mut user, &mut letters, 10_405), "1 on a, open c, 2 on c");
    user.handle_response('a', 1, 3_883);
    user.handle_response('c', 1, 1_866);
    let end = "3 files in 200 ms, close a, close c, finished";
    assert_eq!(acts(&mut user, &mut letters, 10_505), end);
    assert_eq!(acts(&mut user, &mut letters, 10_505), "");
}

#[test]
fn what_a_connection_has_lost_is_sent_again_if_it_has_carried_a_response() {
    let web = web(Transfer::Persistent, Connections::PerDocument);
    let mut user = User::new(&web, Seed(1).stream(), millis(0), Duration::ZERO);
    let mut letters = 'a'..='z';
    user.handle_timeout(millis(0));
    assert_eq!(acts(&mut user, &mut letters, 0), "page, open a, 0 on a");
    user.handle_response('a', 1, 6_651);
    assert_eq!(acts(&mut user, &mut letters, 10), "1 on a");
    assert_eq!(user.handle_lost('a', 1), Some(1));
    assert_eq!(user.handle_lost('a', 1), None);
    assert_eq!(acts(&mut user, &mut letters, 20), "open b, 1 on b");
    // RFC 9112, section 9.3.1: a client SHOULD NOT automatically retry a failed automatic retry.
    assert_eq!(user.handle_lost('b', 1), Some(0));
    assert_eq!(acts(&mut user, &mut letters, 30), "page, wake 10030");
    assert_eq!(user.progress(), Progress::NoDocument);
}

#[test]
fn a_connection_that_cannot_be_opened_is_tried_again_after_a_second() {
    let mut web = web(Transfer::Serial, Connections::PerDocument);
    web.workload = Pages::Fixed { primary: 100, inlines: (&[]).into() };
    web.pages = NonZeroU32::new(1);
    let mut user = User::new(&web, Seed(1).stream(), millis(0), Duration::ZERO);
    let mut letters = "-a".chars();
    user.handle_timeout(millis(0));
    assert_eq!(acts(&mut user, &mut letters, 0), "page, not opened, wake 1000");
    user.handle_timeout(millis(1_000));
    assert_eq!(acts(&mut user, &mut letters, 1_000), "open a, 0 on a");
    user.handle_response('a', 1, 100);
    // The wait for a connection counts.
    let end = "1 files in 1100 ms, close a, finished";
    assert_eq!(acts(&mut user, &mut letters, 1_100), end);
}

#[test]
fn a_page_that_cannot_be_completed_resets_its_other_connections() {
    let connections = NonZeroU16::new(2).unwrap();
    let web = web(Transfer::Parallel { connections }, Connections::PerDocument);
    let mut user = User::new(&web, Seed(1).stream(), millis(0), Duration::ZERO);
    let mut letters = 'a'..='z';
    user.handle_timeout(millis(0));
    assert_eq!(acts(&mut user, &mut letters, 0), "page, open a, 0 on a");
    user.handle_response('a', 1, 6_651);
    assert_eq!(user.handle_lost('a', 0), Some(0));
    assert_eq!(acts(&mut user, &mut letters, 10), "open b, 1 on b, open c, 2 on c");
    assert_eq!(user.handle_lost('b', 1), Some(0));
    assert_eq!(acts(&mut user, &mut letters, 20), "reset c, page, wake 10020");
}

#[test]
fn a_user_pauses_before_a_page_that_is_wholly_cached() {
    let mut web = web(Transfer::Serial, Connections::PerDocument);
    (web.cached_per_million, web.think) = (1_000_000, Span::ZERO);
    let mut user = User::new(&web, Seed(1).stream(), millis(0), Duration::from_millis(1));
    let mut letters = 'a'..='z';
    user.handle_timeout(millis(0));
    assert_eq!(acts(&mut user, &mut letters, 0), "page, 0 files in 0 ms, page, wake 1");
    user.handle_timeout(millis(1));
    assert_eq!(acts(&mut user, &mut letters, 1), "0 files in 0 ms, finished");
}
