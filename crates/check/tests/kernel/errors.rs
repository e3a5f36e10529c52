//! Servers that cannot be checked: a clear message, in bounded time.

use std::time::{Duration, Instant};

use ackwise_check::{CheckError, Options, check};
use ackwise_http::{Behaviour, behaviour::Answer};
use ackwise_net::Target;

use super::server::card;

#[test]
fn a_server_that_does_not_speak_http_gets_a_clear_message_in_bounded_time() {
    for (answer, says) in [
        (Answer::Garbage, "not HTTP"),
        (Answer::EndlessHead, "end of the head"),
        (Answer::RedirectLoop, "redirect loop"),
        (Answer::Silence, "no bytes within 2.0s"),
        (Answer::Close, "closed the connection"),
    ] {
        let begun = Instant::now();
        let behaviour = Behaviour { answer, ..Behaviour::FIXED };
        let error = card(behaviour, "/500", &[]).expect_err("there is nothing to check");
        assert!(error.to_string().contains(says), "{answer:?}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{answer:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn what_is_not_http_is_shown_escaped() {
    let behaviour = Behaviour { answer: Answer::Garbage, ..Behaviour::FIXED };
    let error = card(behaviour, "/", &[]).expect_err("garbage").to_string();
    assert!(error.contains("\\x"), "{error}");
    assert!(error.is_ascii(), "{error:?}");
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn a_port_without_a_server_refuses() {
    // Bound and closed at once: nothing listens there now.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target: Target = free.to_string().parse().unwrap();
    let error = check(&target, &Options::default(), &mut |_| {}).expect_err("nothing listens");
    assert!(matches!(error, CheckError::Unanswered { .. }), "{error}");
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[test]
fn a_name_without_an_address_is_said() {
    let target: Target = "no-such-host.invalid".parse().unwrap();
    let error = check(&target, &Options::default(), &mut |_| {}).expect_err("RFC 2606");
    assert!(error.to_string().starts_with("cannot resolve no-such-host.invalid"), "{error}");
}
