//! The clock's verdicts, and whether `check` has the same.

use std::fmt::{self, Display, Formatter};

use serde::Deserialize;
use serde_json::Value;

/// First byte and longest gap of a response, in milliseconds.
type Response = [f64; 2];

/// What the script measured: in each arm, the responses of each connection.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Clock {
    delayed: Vec<Vec<Response>>,
    quick: Vec<Vec<Response>>,
}

/// Whether two answers are the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Equal {
    Same,
    Differs,
    /// The clock saw something in too few responses to call it the server's behaviour, or in too many not to.
    Undecided,
}

/// Both answers.
pub(super) struct Compared {
    rows: Vec<(&'static str, String, Option<bool>)>,
    held: [usize; 2],
    pub(super) equal: Equal,
}

/// Compares the verdicts of a card with those of the clock.
pub(super) fn compare(clock: &Clock, card: &Value) -> Compared {
    let truths = [
        ("nagle-delayed-ack", clock.stalls()),
        ("first-byte", clock.begins_late(card)),
        ("response-pause", clock.pauses()),
    ];
    let mut equal = Equal::Same;
    let mut rows = Vec::new();
    for (id, truth) in truths {
        let said = finding(card, id)["verdict"].as_str().unwrap_or("none").to_owned();
        equal = match truth {
            _ if equal == Equal::Differs => Equal::Differs,
            None => Equal::Undecided,
            Some(truth) if claim(&said) == Some(truth) => equal,
            Some(_) => Equal::Differs,
        };
        rows.push((id, said, truth));
    }
    let held = [&clock.delayed, &clock.quick].map(|arm| count(arm, is_held));
    Compared { rows, held, equal }
}

/// What a verdict claims; `unknown` claims nothing.
fn claim(verdict: &str) -> Option<bool> {
    match verdict {
        "fail" | "warn" => Some(true),
        "pass" => Some(false),
        _ => None,
    }
}

fn named_proxy(card: &Value) -> bool {
    !finding(card, "first-byte")["values"]["proxy"].is_null()
}

fn finding<'a>(card: &'a Value, id: &str) -> &'a Value {
    let all = card["results"][0]["findings"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().find(|it| it["id"] == id).unwrap_or(&Value::Null)
}

impl Clock {
    /// Whether responses wait for the client's ACK: all, or the first of each connection. `None` if only some do.
    fn stalls(&self) -> Option<bool> {
        let excess = |arms: [usize; 2]| arms[0].saturating_sub(arms[1]);
        let all = excess([count(&self.delayed, is_held), count(&self.quick, is_held)]);
        let firsts = |arm: &[Vec<Response>]| {
            arm.iter().filter_map(|it| it.first()).filter(|it| is_held(it)).count()
        };
        let firsts = excess([firsts(&self.delayed), firsts(&self.quick)]);
        let responses: usize = self.delayed.iter().map(Vec::len).sum();
        if 2 * all >= responses || 4 * firsts >= 3 * self.delayed.len() {
            Some(true)
        } else {
            (all <= NOISE).then_some(false)
        }
    }

    /// Whether responses pause although every byte is acknowledged at once.
    fn pauses(&self) -> Option<bool> {
        most(count(&self.quick, |it| it[1] >= HELD_MS), self.quick.iter().map(Vec::len).sum())
    }

    /// Whether responses begin later than the first after a silence, or late behind a proxy that names itself.
    fn begins_late(&self, card: &Value) -> Option<bool> {
        let is_proxy = named_proxy(card);
        let (mut late, mut later) = (0, 0);
        for series in &self.quick {
            let Some((first, others)) = series.split_first() else { continue };
            later += others.len();
            let limit = if is_proxy { HELD_MS } else { first[0] + HELD_MS };
            late += others.iter().filter(|it| it[0] >= limit).count();
        }
        most(late, later)
    }
}

/// Whether nearly all of them do; `None` if neither nearly all nor nearly none.
fn most(some: usize, all: usize) -> Option<bool> {
    if 4 * some >= 3 * all { Some(true) } else { (some <= NOISE).then_some(false) }
}

fn count(arm: &[Vec<Response>], is_such: impl Fn(&Response) -> bool) -> usize {
    arm.iter().flatten().filter(|it| is_such(it)).count()
}

fn is_held(response: &Response) -> bool {
    response.iter().any(|it| *it >= HELD_MS)
}

impl Display for Compared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (id, said, truth) in &self.rows {
            let truth = truth.map_or("?", |it| if it { "yes" } else { "no" });
            let cell = format!("{id} {said}|{truth}");
            write!(f, "{cell:<27}")?;
        }
        let [delayed, quick] = self.held;
        let equal = match self.equal {
            Equal::Same => "equal",
            Equal::Differs => "DIFFERS",
            Equal::Undecided => "undecided",
        };
        write!(f, "held {delayed:>2}/{quick:<2} {equal}")
    }
}

/// A wait for a delayed ACK (40 ms on Linux), of which a scheduler may take some. Our choice.
const HELD_MS: f64 = 30.0;

/// Responses of 32 that a busy machine may delay as long. Our choice.
const NOISE: usize = 2;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clock(delayed: [Response; 2], quick: [Response; 2]) -> Clock {
        let arm = |[first, later]: [Response; 2]| {
            (0..4).map(|_| [[first].as_slice(), &[later; 7]].concat()).collect()
        };
        Clock { delayed: arm(delayed), quick: arm(quick) }
    }

    fn card(nagle: &str, first: &str, pause: &str) -> Value {
        let finding =
            |id, verdict| json!({"id": id, "verdict": verdict, "values": {"proxy": null}});
        let all = [("nagle-delayed-ack", nagle), ("first-byte", first), ("response-pause", pause)];
        json!({"results": [{"findings": all.map(|(id, verdict)| finding(id, verdict))}]})
    }

    #[test]
    fn what_only_delayed_acks_cost_is_a_stall_and_the_rest_a_pause_or_a_late_first_byte() {
        let (prompt, gap, late) = ([1.0, 0.0], [1.0, 41.0], [44.0, 0.0]);
        let good = card("pass", "pass", "pass");
        for (delayed, quick, card) in [
            ([prompt; 2], [prompt; 2], good),
            ([gap; 2], [prompt; 2], card("fail", "pass", "pass")),
            ([late, prompt], [prompt; 2], card("fail", "pass", "pass")),
            ([gap; 2], [gap; 2], card("pass", "pass", "warn")),
            ([prompt, late], [prompt, late], card("pass", "warn", "pass")),
            ([late; 2], [late; 2], card("pass", "pass", "pass")),
        ] {
            let compared = compare(&clock(delayed, quick), &card);
            assert_eq!(compared.equal, Equal::Same, "{compared}");
        }
        let wrong = compare(&clock([gap; 2], [prompt; 2]), &card("unknown", "pass", "pass"));
        assert_eq!(wrong.equal, Equal::Differs, "{wrong}");
    }

    #[test]
    fn some_held_responses_decide_nothing() {
        let mut rare = clock([[1.0, 0.0]; 2], [[1.0, 0.0]; 2]);
        for series in &mut rare.delayed {
            series[3] = [1.0, 41.0];
        }
        assert_eq!(compare(&rare, &card("fail", "pass", "pass")).equal, Equal::Undecided);
    }

    #[test]
    fn a_card_without_findings_differs() {
        let error = json!({"error": "no SETTINGS"});
        assert_eq!(compare(&clock([[1.0, 0.0]; 2], [[1.0, 0.0]; 2]), &error).equal, Equal::Differs);
    }
}
