//! The one sentence that stands above everything else.

use ackwise_cause::GrpcStatus;
use ackwise_text::{escape, words::milliseconds};

use super::{Report, pages, stalls, title};
use crate::card::{Card, CheckId, Finding, FirstByte, Reason, Role, StackName, Values, Verdict};

pub(super) fn of(report: &Report) -> String {
    let sentences: Vec<_> = match &report.cards[..] {
        [] => vec!["Nothing was checked.".to_owned()],
        // Two versions of HTTP that fare the same are worth one sentence.
        [one, two] if one.server.is_none() => {
            let both = format!("{} (HTTP/1.1 and HTTP/2)", title(one));
            let sentences = [one, two].map(|card| of_card(card, &who(card, &both)));
            match sentences[0] == sentences[1] {
                true => sentences[..1].to_vec(),
                false => [one, two].map(|card| of_card(card, &who(card, &title(card)))).to_vec(),
            }
        }
        cards => cards.iter().map(|card| of_card(card, &who(card, &title(card)))).collect(),
    };
    let gain = pages::gain(&report.pages);
    let news = report.news().map(|news| match &news[..] {
        [] => "Nothing is new since the baseline.".to_owned(),
        news => {
            let names: Vec<_> = news.iter().map(|id| id.name()).collect();
            format!("New since the baseline: {}.", names.join(", "))
        }
    });
    sentences.into_iter().chain(gain).chain(news).collect::<Vec<_>>().join(" ")
}

fn who(card: &Card, title: &str) -> String {
    let http = card.status.filter(|status| *status >= 400);
    let grpc = card.grpc_status.filter(|status| *status != 0).map(GrpcStatus);
    match (card.server, http, grpc) {
        (Some(_), ..) => format!("The {title}"),
        (None, Some(status), _) => format!("{title} (status {status})"),
        (None, None, Some(status)) => format!("{title} (gRPC status {status})"),
        (None, None, None) => title.to_owned(),
    }
}

fn of_card(card: &Card, who: &str) -> String {
    let lost = lossy(card);
    let verdict = match &lost[..] {
        [worst, ..] => format!("{who} {}{}", losses(&lost), change(worst)),
        [] => lossless(who, card),
    };
    if card.server.is_some() {
        // They are there to be compared, and their card says what stays open.
        return verdict;
    }
    let open: Vec<_> = stalls::unanswered(card).collect();
    let leads = |it: &&Finding| it.id == CheckId::NagleDelayedAck || is_disturbed(it);
    // Without a loss it has been said.
    let [first, open] = match (lost.is_empty() || open.is_empty(), open.iter().any(leads)) {
        (true, _) => [String::new(), String::new()],
        // The stall that is most common, or an answer that the next run may give: the first thing to know.
        (_, true) => [format!("Could not determine {}. ", names(open)), String::new()],
        _ => [String::new(), format!(" Could not determine {}.", names(open))],
    };
    let disturbed = match stalls::open(card).any(is_disturbed) {
        true => " Interference made a check inconclusive: run the check again.",
        false => "",
    };
    format!("{first}{verdict}{open}{}{disturbed}{}", slow_start(card), beyond_stack(card))
}

fn is_disturbed(finding: &Finding) -> bool {
    finding.reason == Some(Reason::Disturbed)
}

/// What another stack could tell.
fn beyond_stack(card: &Card) -> String {
    let beyond = names(stalls::beyond_stack(card));
    match (beyond.is_empty(), card.stack) {
        (true, _) => String::new(),
        (_, StackName::Kernel) if card.role == Role::Client => {
            format!(" Kernel sockets cannot measure {beyond} (leave out --host-network).")
        }
        (_, StackName::Kernel) => {
            format!(" The kernel's TCP stack cannot measure {beyond} (--stack ackwise can).")
        }
        (_, StackName::Ackwise) => format!(" This TCP stack cannot measure {beyond} here."),
    }
}

/// What no other sentence says of a server that loses nothing: its responses begin late.
fn slow_start(card: &Card) -> String {
    let Some((wait, verdict)) = first_byte_wait(card) else { return String::new() };
    let whose = match verdict {
        Verdict::Warn => "check the server behind the proxy",
        _ => "time of the program, or of a server behind it",
    };
    let wait = milliseconds(wait);
    format!(" Its first byte takes {wait} more than a round trip: {whose}.")
}

/// How much longer than a round trip the first byte takes, if that has no cost of its own and is worth a word.
fn first_byte_wait(card: &Card) -> Option<(f64, Verdict)> {
    let facts = |it: &Finding| match &it.values {
        Values::FirstByte(FirstByte { wait_ms, .. }) if it.cost_ms.is_none() => {
            Some(((*wait_ms)?, it.verdict))
        }
        _ => None,
    };
    card.findings.iter().find_map(facts).filter(|(wait, _)| *wait >= SLOW_MS)
}

/// A shorter time to the first byte is not worth a word; as for stalls.
const SLOW_MS: f64 = 10.0;

/// What fails, and what only warns but costs time; the dearest first.
fn lossy(card: &Card) -> Vec<&Finding> {
    let cost = |it: &Finding| it.cost_ms.unwrap_or(0.0);
    let mut lossy: Vec<_> = card
        .findings
        .iter()
        .filter(|it| match it.verdict {
            Verdict::Fail => true,
            Verdict::Warn => cost(it) > 0.0,
            Verdict::NotApplicable | Verdict::Pass | Verdict::Unknown => false,
        })
        .collect();
    lossy.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    lossy
}

/// What can be said of a server at which no loss was seen: no more than was found out.
fn lossless(who: &str, card: &Card) -> String {
    // A stream has one check whose result says more than its verdict.
    if let Some(held) = card.findings.iter().find(|it| it.id == CheckId::StreamHeld) {
        return format!("{who}: {}.", escape::line(&held.summary));
    }
    let open = names(stalls::unanswered(card));
    let asked = stalls::of(card).filter(|it| it.verdict != Verdict::NotApplicable);
    let (asked, passed) = asked
        .fold((0, 0), |(n, passed), it| (n + 1, passed + usize::from(it.verdict == Verdict::Pass)));
    // Without a message, there is no word on the stall that is most common.
    let is_about_nothing =
        |it: &Finding| it.id == CheckId::NagleDelayedAck && it.verdict == Verdict::NotApplicable;
    // Of a stream, not every wait shows.
    let limited = card.role == Role::Stream
        || stalls::of(card).any(|it| it.reason == Some(Reason::Stack) || is_about_nothing(it));
    let waits = first_byte_wait(card).is_some();
    let warned = names(card.findings.iter().filter(|it| it.verdict == Verdict::Warn));
    let look = match warned.is_empty() {
        true => String::new(),
        false => format!("; warnings: {warned}"),
    };
    if card.findings.iter().all(|it| it.verdict == Verdict::NotApplicable) {
        return format!("{who}: none of these checks applies.");
    }
    let is_result = |it: &Finding| !matches!(it.verdict, Verdict::NotApplicable | Verdict::Unknown);
    if open.is_empty() && !card.findings.iter().any(is_result) {
        return format!("{who}: no check gave a result.");
    }
    let all = all_that_pass(card);
    match passed {
        0 if !open.is_empty() => format!("{who}: could not determine {open}{look}."),
        _ if !open.is_empty() => {
            format!("{who}: no stall found; could not determine {open}{look}.")
        }
        // Time goes by, or a stall may hide from this stack.
        1.. if waits || limited => format!("{who}: no stall found{look}."),
        0 if warned.is_empty() => format!("{who} passes {all}."),
        _ if warned.is_empty() => format!("{who} loses no time and passes {all}."),
        // Some stall was not asked for or warns: then it is not for us to say that no time is lost.
        0 => format!("{who}: warnings: {warned}."),
        n if n < asked => format!("{who}: warnings: {warned}."),
        _ => format!("{who} loses no time in these checks{look}."),
    }
}

/// What a client that passes everything passes: many checks need something of it.
fn all_that_pass(card: &Card) -> String {
    let applies = |it: &&Finding| it.verdict != Verdict::NotApplicable;
    match card.findings.iter().filter(applies).count() {
        1 if card.role == Role::Client => "the only check that applies".to_owned(),
        n if card.role == Role::Client && n < card.findings.len() => {
            format!("the {n} checks that apply")
        }
        _ => "all checks".to_owned(),
    }
}

fn names<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    findings.into_iter().map(|it| it.id.name()).collect::<Vec<_>>().join(", ")
}

/// What was lost, in the order given, and what was wrong without a cost.
fn losses(lossy: &[&Finding]) -> String {
    let costs = lossy.iter().filter_map(|it| Some((milliseconds(it.cost_ms?), *it)));
    let lost = costs.enumerate().map(|(index, (cost, finding))| {
        let id = finding.id;
        let per = match id {
            CheckId::RequestSegments => "request",
            _ if id.role() == Role::Stream => "event",
            _ if id.role() == Role::Client => "request",
            _ if is_in_first_responses(finding) => "connection",
            _ => "response",
        };
        let whose = if is_for_same_host(finding) { " (clients on its host)" } else { "" };
        let size = of_range(finding).map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
        match index {
            0 => format!("loses {cost} per {per}{size} to {id}{whose}"),
            _ if per == "request" => format!("{cost} per {per} to {id}"),
            _ => format!("{cost} to {id}{whose}"),
        }
    });
    let wrong = lossy.iter().filter(|it| it.cost_ms.is_none()).map(|it| format!("fails {}", it.id));
    lost.chain(wrong).collect::<Vec<_>>().join(" and ")
}

/// Only the first response of a connection is late.
fn is_in_first_responses(finding: &Finding) -> bool {
    matches!(&finding.values, Values::NagleDelayedAck(it) if it.only_first == Some(true))
}

fn is_for_same_host(finding: &Finding) -> bool {
    matches!(&finding.values, Values::NagleDelayedAck(it) if it.only_same_host == Some(true))
}

/// The size of the response that loses the time, if that is not the page but a range of it.
fn of_range(finding: &Finding) -> Option<u64> {
    match &finding.values {
        Values::NagleDelayedAck(it) => it.range_bytes,
        _ => None,
    }
}

/// What to change, as far as one sentence carries it; the rest stands with the finding.
fn change(finding: &Finding) -> String {
    let Some(remedy) = finding.remedy.as_deref() else { return ".".to_owned() };
    let first_line = remedy.lines().next().unwrap_or_default();
    let sentence = first_line.split_inclusive(". ").next().unwrap_or_default();
    let sentence = sentence.trim_end().trim_end_matches('.');
    format!(". Fix: {}.", escape::line(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{card::Protocol, report::sample};

    #[test]
    fn it_says_what_costs_how_much_and_what_to_change() {
        assert_eq!(
            of(&sample::one_card()),
            "http://127.0.0.1:8080/ loses 40.2 ms per response to nagle-delayed-ack. Fix: set \
             TCP_NODELAY on accepted connections, or write each response in one call. \
             Could not determine short-initial-segment."
        );
    }

    #[test]
    fn whose_time_is_lost_and_in_which_response_is_said() {
        let mut report = sample::one_card();
        report.cards[0].status = Some(404);
        if let Values::NagleDelayedAck(values) = &mut nagle(&mut report).values {
            (values.range_bytes, values.only_same_host) = (Some(200), Some(true));
        }
        let sentence = of(&report);
        if let Values::NagleDelayedAck(values) = &mut nagle(&mut report).values {
            values.only_first = Some(true);
        }
        assert!(of(&report).contains("loses 40.2 ms per connection"), "{}", of(&report));
        assert!(
            sentence.starts_with(
                "http://127.0.0.1:8080/ (status 404) loses 40.2 ms per response of 200 bytes to \
                 nagle-delayed-ack (clients on its host)."
            ),
            "{sentence}"
        );
    }

    #[test]
    fn two_versions_are_one_sentence_if_they_fare_the_same() {
        let mut report = sample::one_card();
        let http2 = Card { protocol: Protocol::Http2, ..report.cards[0].clone() };
        report.cards.push(http2);
        let sentence = of(&report);
        assert!(
            sentence.starts_with("http://127.0.0.1:8080/ (HTTP/1.1 and HTTP/2) loses 40.2 ms"),
            "{sentence}"
        );
        assert_eq!(sentence.matches("loses").count(), 1, "{sentence}");
        nagle(&mut report).cost_ms = Some(60.0);
        let sentence = of(&report);
        assert!(sentence.starts_with("http://127.0.0.1:8080/ loses 60.0 ms"), "{sentence}");
        assert!(sentence.contains("http://127.0.0.1:8080/ (HTTP/2) loses 40.2 ms"), "{sentence}");
    }

    #[test]
    fn losses_come_before_wrong_answers() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|it| it.verdict != Verdict::NotApplicable);
        for finding in &mut report.cards[0].findings {
            finding.verdict = Verdict::Fail;
        }
        report.cards[0].findings[0].cost_ms = Some(200.0);
        let losses = losses(&report.cards[0].findings.iter().collect::<Vec<_>>());
        assert_eq!(
            losses,
            "loses 200.0 ms per response to split-head and 40.2 ms to nagle-delayed-ack and fails \
             short-initial-segment and fails send-buffer and fails pipelining"
        );
    }

    #[test]
    fn a_good_server_is_told_so() {
        let mut report = sample::one_card();
        for finding in &mut report.cards[0].findings {
            finding.verdict = Verdict::Pass;
        }
        assert_eq!(of(&report), "http://127.0.0.1:8080/ loses no time and passes all checks.");
        report.cards[0].findings.retain(|finding| finding.id == CheckId::Pipelining);
        assert_eq!(of(&report), "http://127.0.0.1:8080/ passes all checks.");
        let only = &mut report.cards[0].findings[0];
        (only.verdict, only.reason) = (Verdict::Unknown, Some(Reason::Stack));
        assert!(of(&report).starts_with("http://127.0.0.1:8080/: no check gave a result. "));
    }

    #[test]
    fn a_client_passes_what_applies_to_it() {
        let mut report = sample::one_card();
        let card = &mut report.cards[0];
        card.role = Role::Client;
        let finding = |id, verdict| Finding { id, verdict, ..card.findings[0].clone() };
        card.findings = vec![
            finding(CheckId::FirstClose, Verdict::Pass),
            finding(CheckId::ConnectionReuse, Verdict::Pass),
            finding(CheckId::CloseRace, Verdict::NotApplicable),
        ];
        assert_eq!(of(&report), "http://127.0.0.1:8080/ passes the 2 checks that apply.");
    }

    #[test]
    fn a_slow_first_byte_is_said_of_a_server_that_loses_nothing() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|it| it.id == CheckId::Pipelining);
        let facts = FirstByte { wait_ms: Some(44.2), ..FirstByte::default() };
        let first_byte = Finding {
            id: CheckId::FirstByte,
            verdict: Verdict::Pass,
            values: facts.into(),
            ..report.cards[0].findings[0].clone()
        };
        report.cards[0].findings[0].verdict = Verdict::Pass;
        report.cards[0].findings.push(first_byte);
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/: no stall found. Its first byte takes 44.2 ms more than a \
             round trip: time of the program, or of a server behind it."
        );
    }

    #[test]
    fn a_warning_without_a_cost_is_no_loss() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|it| it.id != CheckId::ShortInitialSegment);
        nagle(&mut report).verdict = Verdict::Pass;
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/ loses no time in these checks; warnings: split-head."
        );
    }

    #[test]
    fn a_warning_with_a_cost_is_a_loss() {
        let mut report = sample::one_card();
        let nagle = nagle(&mut report);
        *nagle = Finding {
            id: CheckId::RequestSegments,
            verdict: Verdict::Warn,
            cost_ms: Some(96.0),
            remedy: None,
            ..nagle.clone()
        };
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/ loses 96.0 ms per request to request-segments. Could not \
             determine short-initial-segment."
        );
    }

    #[test]
    fn the_advice_is_about_the_first_that_is_named() {
        let mut report = sample::one_card();
        nagle(&mut report).verdict = Verdict::Warn;
        let split_head = &mut report.cards[0].findings[0];
        split_head.verdict = Verdict::Fail;
        let sentence = of(&report);
        assert!(sentence.contains("to nagle-delayed-ack and fails split-head."), "{sentence}");
        assert!(sentence.contains("Fix: set TCP_NODELAY"), "{sentence}");
    }

    #[test]
    fn what_was_not_found_out_is_not_called_good() {
        let mut report = sample::one_card();
        nagle(&mut report).verdict = Verdict::Unknown;
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/: could not determine short-initial-segment, \
             nagle-delayed-ack; warnings: split-head."
        );
    }

    #[test]
    fn an_unknown_nagle_stall_leads_the_summary_whatever_else_is_lost() {
        let mut report = sample::one_card();
        nagle(&mut report).verdict = Verdict::Unknown;
        let split_head = &mut report.cards[0].findings[0];
        (split_head.verdict, split_head.cost_ms) = (Verdict::Warn, Some(12.0));
        let sentence = of(&report);
        let begins = "Could not determine short-initial-segment, nagle-delayed-ack. http://";
        assert!(sentence.starts_with(begins), "{sentence}");
    }

    #[test]
    fn a_disturbance_is_said_with_what_it_took() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|it| it.id == CheckId::NagleDelayedAck);
        assert_eq!(report.unanswered(), None);
        *nagle(&mut report) = Finding {
            verdict: Verdict::Unknown,
            reason: Some(Reason::Disturbed),
            summary: "too busy".to_owned(),
            ..nagle(&mut report).clone()
        };
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/: could not determine nagle-delayed-ack. Interference made a check \
             inconclusive: run the check again."
        );
        assert_eq!(
            report.unanswered().as_deref(),
            Some("no verdict on nagle-delayed-ack: too busy (run the check again)")
        );
    }

    #[test]
    fn a_call_without_a_message_is_not_called_good() {
        let mut report = sample::one_card();
        report.cards[0].grpc_status = Some(12);
        for finding in &mut report.cards[0].findings {
            finding.verdict = Verdict::Pass;
        }
        nagle(&mut report).verdict = Verdict::NotApplicable;
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/ (gRPC status 12 UNIMPLEMENTED): no stall found."
        );
    }

    #[test]
    fn a_stall_that_nobody_asked_about_is_not_denied() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|finding| finding.verdict == Verdict::Warn);
        assert_eq!(of(&report), "http://127.0.0.1:8080/: warnings: split-head.");
    }

    fn nagle(report: &mut Report) -> &mut Finding {
        let findings = &mut report.cards[0].findings;
        findings.iter_mut().find(|it| it.id == CheckId::NagleDelayedAck).unwrap()
    }
}
