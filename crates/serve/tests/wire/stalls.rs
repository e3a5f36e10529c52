//! The stalls are real: a plain client on loopback incurs the delays of the 1996 behaviours, and
//! none with the fixed ones. Bands are wide, because the machine may be busy.

use std::{num::NonZeroUsize, time::Duration};

use ackwise_http::{
    Behaviour, RequestBuilder,
    behaviour::{Gather, HeadFlush, Nagle, Tail},
};
use ackwise_serve::{Config, Server};

use crate::client::Client;

/// Median time of a small document on a reused connection.
///
/// The first documents are not counted: Linux acknowledges immediately on a new connection.
fn median(behaviour: Behaviour, path: &str) -> Duration {
    let server = Server::start(Config::loopback(behaviour)).unwrap();
    let mut client = Client::connect(&server);
    let mut times: Vec<_> = (0..12).map(|_| client.time(path)).skip(3).collect();
    times.sort();
    times[times.len() / 2]
}

/// Median time of three small documents requested at once.
fn median_of_three_pipelined(behaviour: Behaviour) -> Duration {
    let server = Server::start(Config::loopback(behaviour)).unwrap();
    let mut client = Client::connect(&server);
    let requests = ["/300", "/200", "/100"].map(|path| RequestBuilder::get("localhost", path));
    let mut times: Vec<_> = (0..12).map(|_| client.time_together(&requests)).skip(3).collect();
    times.sort();
    times[times.len() / 2]
}

#[test]
fn a_head_apart_under_nagle_waits_for_the_delayed_ack() {
    let old = median(Behaviour::PAPER_1996, "/300");
    let fixed = median(Behaviour::FIXED, "/300");
    println!("1996 {old:?}, fixed {fixed:?}");
    assert!(old > Duration::from_millis(20), "{old:?}");
    assert!(fixed < old / 5, "{fixed:?} against {old:?}");
}

#[test]
fn a_head_apart_without_nagle_does_not_wait() {
    let split = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };
    let time = median(split, "/300");
    println!("split head without Nagle {time:?}");
    assert!(time < Duration::from_millis(10), "{time:?}");
}

#[test]
fn an_odd_final_segment_under_nagle_waits() {
    let joined =
        Behaviour { nagle: Nagle::On, write_size: NonZeroUsize::new(4096), ..Behaviour::FIXED };
    let [whole, odd] = ["/300", "/4300"].map(|path| median(joined, path));
    println!("one write {whole:?}, two writes {odd:?}");
    assert!(odd > Duration::from_millis(20), "{odd:?}");
    assert!(whole < odd / 5, "{whole:?} against {odd:?}");
}

#[test]
fn pipelined_answers_under_nagle_wait_unless_they_are_gathered() {
    let each = Behaviour { nagle: Nagle::On, ..Behaviour::FIXED };
    let gathered = Behaviour { gather: Gather::Pending, ..each };
    let [each, gathered] = [each, gathered].map(median_of_three_pipelined);
    println!("each by itself {each:?}, gathered {gathered:?}");
    assert!(each > Duration::from_millis(20), "{each:?}");
    assert!(gathered < each / 5, "{gathered:?} against {each:?}");
}

#[test]
fn a_forgotten_cork_waits_for_the_kernels_timer() {
    let corked = Behaviour { tail: Tail::Corked, ..Behaviour::FIXED };
    let time = median(corked, "/300");
    println!("corked {time:?}");
    assert!(time > Duration::from_millis(100), "{time:?}");
    assert!(time < Duration::from_millis(1000), "{time:?}");
}

#[test]
fn thinking_costs_what_it_says() {
    let think = Duration::from_millis(40);
    let time = median(Behaviour { think, ..Behaviour::FIXED }, "/300");
    println!("thinking {time:?}");
    assert!(time >= think && time < think * 5, "{time:?}");
}
