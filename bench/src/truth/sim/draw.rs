//! Families of experiments, with parameters drawn by seed. All ranges are our choice: from modems to
//! LANs and satellites, and the settings that provoke each stall.

use serde_json::{Map, Value};

use crate::dice::Dice;

/// An experiment that was drawn.
pub(super) struct Drawn {
    pub(super) family: &'static str,
    /// Whose TCP the server has.
    pub(super) sender: &'static str,
    /// `KEY=VALUE`, as for `ackwise run --set`.
    pub(super) settings: Vec<String>,
    /// One-way propagation delay.
    pub(super) delay_ms: f64,
}

impl Drawn {
    /// The settings for `case.json`.
    pub(super) fn parameters(&self) -> Map<String, Value> {
        let pair = |it: &String| {
            it.split_once('=').map(|(key, value)| (key.to_owned(), value.trim_matches('"').into()))
        };
        let sender = (SENDER.to_owned(), self.sender.into());
        self.settings.iter().filter_map(pair).chain([sender]).collect()
    }

    pub(super) fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        self.settings.push(format!("{key}={value}"));
    }

    /// As Linux does without `tcp_slow_start_after_idle`, which also lets an unused window shrink.
    pub(super) fn keep_window_over_idle(&mut self) {
        self.set("host.server.tcp.idle_restart", "\"keep\"");
        self.set("host.server.tcp.unused_window", "\"kept\"");
    }
}

/// The experiment that every case is a variation of.
pub(super) const BASE: &str = r#"
duration = "120 s"
watch_causes = true

[tcp]
preset = "linux-6"

[host]
client = { tcp = { receive_buffer = "4 MiB" } }
server = { tcp = { send_buffer = "4 MiB" } }

[link.path]
ends = ["client", "server"]
rate = "10 Mb/s"
delay = "10 ms"
queue = "200 packets"

[application.web]
kind = "web"
client = "client"
server = "server"
pages = 6
workload = { primary = "20 KB", inlines = [] }
transfer = "persistent"
connections = "kept"
think = { uniform = { from = "50 ms", to = "400 ms" } }
behaviour = { preset = "fixed" }
"#;

/// Draws a path, and what the family with this number provokes. The sender has dice of its own: a case in
/// which it is `linux-6` is the same as before there were others.
pub(super) fn draw(
    families: &[(&'static str, Provoke)],
    number: u64,
    dice: &mut Dice,
    sender: &mut Dice,
) -> Drawn {
    let count = u64::try_from(families.len()).expect("a few families");
    let place = usize::try_from(number % count).expect("below the number of families");
    let (family, provoke) = families[place];
    let delay_ms = round(dice.scaled(0.2, 150.0));
    let mut drawn = Drawn { family, sender: LINUX, settings: Vec::new(), delay_ms };
    drawn.set("link.path.delay", format!("\"{delay_ms} ms\""));
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(200.0, 100_000.0).round()));
    let clocks = dice.between(0, 2);
    let ack = match clocks {
        0 => "\"linux-quick-ack\"".to_owned(),
        1 => format!("{{ delayed = {{ delay = \"{} ms\" }} }}", dice.between(40, 200)),
        _ => "{ delayed = { delay = \"40 ms\" } }".to_owned(),
    };
    drawn.set("host.client.tcp.ack", ack);
    provoke(&mut drawn, dice);
    if drawn.sender == LINUX && sender.between(1, BBR_ONE_IN) == 1 {
        bbr(&mut drawn, sender);
    }
    drawn
}

/// The server has BBR. Restart after idle and losses are its own.
pub(super) fn bbr(drawn: &mut Drawn, dice: &mut Dice) {
    drawn.sender = BBR;
    let others = ["host.server.tcp.congestion", "host.server.tcp.idle_restart"];
    drawn.settings.retain(|it| !others.iter().any(|other| it.starts_with(other)));
    drawn.set("host.server.tcp.preset", format!("\"{BBR}\""));
    drawn.set("host.server.tcp.bbr_phase", dice.between(0, 6));
}

/// The key of the sender among the parameters.
const SENDER: &str = "sender";
const LINUX: &str = "linux-6";
const BBR: &str = "linux-6-bbr";
/// One Linux sender in this many has BBR (our choice).
const BBR_ONE_IN: u32 = 4;

/// Sets what provokes something.
pub(super) type Provoke = fn(&mut Drawn, &mut Dice);

/// By name, in turn. A cause that the others provoke rarely has one of its own, so that 650 cases have
/// at least 30 with each cause.
pub(super) const FAMILIES: &[(&str, Provoke)] = &[
    ("plain", plain),
    ("nagle", nagle),
    ("cork", cork),
    ("receive-window", receive_window),
    ("send-buffer", send_buffer),
    ("idle-restart", idle_restart),
    ("loss", loss),
    ("short-initial-segment", short_initial_segment),
    ("programs", programs),
    ("bulk", bulk),
    ("pipelined", pipelined),
    ("1996", paper),
    ("silly-window", silly_window),
    ("long", long),
    ("congestion-window", congestion_window),
    ("loss-recovery", loss_recovery),
    ("paced", paced),
    ("application-limited", application_limited),
];

fn plain(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 300.0, 200_000.0);
}

fn nagle(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 300.0, 30_000.0);
    let hold = ["nagle", "bsd-nagle", "minshall"][dice.between(0, 2) as usize];
    drawn.set("host.server.tcp.hold", format!("\"{hold}\""));
    drawn.set("application.web.behaviour.nagle", "\"on\"");
    drawn.set("application.web.response_head", format!("\"{} B\"", dice.between(80, 600)));
    drawn.set("application.web.behaviour.head_flush", "\"apart\"");
    let write = round(dice.scaled(500.0, 8_000.0));
    drawn.set("application.web.behaviour.write_size", format!("\"{} B\"", write.round()));
}

fn cork(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 2_000.0, 30_000.0);
    drawn.set("host.server.tcp.hold", "{ cork = { release = \"200 ms\" } }");
    drawn.set("application.web.behaviour.tail", "\"corked\"");
    drawn.set("application.web.behaviour.nagle", "\"on\"");
}

fn receive_window(drawn: &mut Drawn, dice: &mut Dice) {
    // Half of them take one segment, or less.
    let window = if dice.between(0, 1) == 0 {
        page(drawn, dice, 50_000.0, 600_000.0);
        dice.scaled(4_000.0, 60_000.0)
    } else {
        page(drawn, dice, 2_000.0, 30_000.0);
        dice.scaled(600.0, 2_500.0)
    };
    drawn.set("host.client.tcp.receive_buffer", format!("\"{} B\"", window.round()));
}

/// A path that holds up to eight send buffers; where it holds less than one, the buffer costs nothing.
fn send_buffer(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 50_000.0, 600_000.0);
    delay(drawn, dice, 5.0, 150.0);
    let buffer = dice.scaled(6_000.0, 60_000.0).round();
    drawn.set("host.server.tcp.send_buffer", format!("\"{buffer} B\""));
    // Bits per millisecond are kb/s.
    let rate = dice.scaled(0.7, 8.0) * buffer * 8.0 / (2.0 * drawn.delay_ms);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", rate.round()));
}

fn idle_restart(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 60_000.0, 300_000.0);
    drawn.set("application.web.think", "{ uniform = { from = \"1 s\", to = \"5 s\" } }");
    let restart = ["since-send", "decay", "rfc-2861"][dice.between(0, 2) as usize];
    drawn.set("host.server.tcp.idle_restart", format!("\"{restart}\""));
}

fn loss(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 2_000.0, 300_000.0);
    if dice.between(0, 2) == 0 {
        drawn.set("link.path.queue", format!("\"{} packets\"", dice.between(5, 25)));
    } else {
        drawn.set("link.path.loss", format!("\"{} %\"", round(dice.scaled(0.3, 5.0))));
    }
}

fn short_initial_segment(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 2_000.0, 30_000.0);
    drawn.set("host.server.tcp.initial_window", dice.between(1, 2));
    drawn.set("application.web.response_head", format!("\"{} B\"", dice.between(80, 600)));
    drawn.set("application.web.behaviour.head_flush", "\"apart\"");
    drawn.set("application.web.connections", "\"per-document\"");
}

fn programs(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 500.0, 60_000.0);
    let pause = |dice: &mut Dice| format!("\"{} ms\"", round(dice.scaled(1.0, 800.0)));
    drawn.set("application.web.behaviour.think", pause(dice));
    if dice.between(0, 1) == 0 {
        drawn.set("application.web.behaviour.think_between_writes", pause(dice));
        drawn.set("application.web.behaviour.write_size", "\"16 KiB\"");
    } else {
        drawn.set("application.web.response_head", format!("\"{} B\"", dice.between(80, 600)));
        drawn.set("application.web.behaviour.head_flush", "\"apart\"");
        drawn.set("application.web.behaviour.think_after_head", pause(dice));
    }
}

fn bulk(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 200_000.0, 2_000_000.0);
    drawn.set("application.web.pages", 2);
    let congestion = ["reno", "new-reno", "sack", "cubic"][dice.between(0, 3) as usize];
    drawn.set("host.server.tcp.congestion", format!("\"{congestion}\""));
    drawn.set("link.path.queue", format!("\"{} packets\"", dice.between(20, 300)));
}

fn pipelined(drawn: &mut Drawn, dice: &mut Dice) {
    let sizes: Vec<String> = (0..dice.between(2, 6))
        .map(|_| format!("\"{} B\"", dice.scaled(300.0, 30_000.0).round()))
        .collect();
    let inlines = sizes.join(", ");
    drawn.set(
        "application.web.workload",
        format!("{{ primary = \"5 KB\", inlines = [{inlines}] }}"),
    );
    drawn.set("application.web.transfer", "\"pipelined\"");
}

fn paper(drawn: &mut Drawn, dice: &mut Dice) {
    drawn.sender = "sunos-4.1";
    drawn.set("tcp.preset", "\"sunos-4.1\"");
    drawn.set("host.client.tcp", "{ receive_buffer = \"16 KiB\" }");
    drawn.set("host.server.tcp", "{ send_buffer = \"16 KiB\" }");
    drawn.settings.retain(|it| !it.starts_with("host.client.tcp.ack"));
    drawn.set("application.web.workload", "\"heidemann\"");
    drawn.set("application.web.behaviour", "\"paper-1996\"");
    drawn.set("application.web.response_head", "\"226 B\"");
    let transfer = ["serial", "persistent"][dice.between(0, 1) as usize];
    drawn.set("application.web.transfer", format!("\"{transfer}\""));
    drawn.set("application.web.connections", "\"per-document\"");
}

/// A program that reads slowly, on a path that is short beside its pauses: what is left of the window
/// between two reads is silly.
fn silly_window(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 10_000.0, 100_000.0);
    delay(drawn, dice, 0.2, 5.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(2_000.0, 100_000.0).round()));
    let buffer = dice.scaled(3_000.0, 20_000.0).round();
    drawn.set("host.client.tcp.receive_buffer", format!("\"{buffer} B\""));
    let size = dice.scaled(500.0, 4_000.0).round();
    drawn.set("application.web.reads.slowly.size", format!("\"{size} B\""));
    let pause = round(dice.scaled(15.0, 200.0));
    drawn.set("application.web.reads.slowly.pause", format!("\"{pause} ms\""));
}

fn long(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 1_000_000.0, 5_000_000.0);
    drawn.set("application.web.pages", 1);
    drawn.set("link.path.loss", format!("\"{} %\"", ratio(dice.scaled(0.01, 0.3))));
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(5_000.0, 100_000.0).round()));
}

/// A path that holds more than the window has after a loss, and a transfer that outlasts the recovery.
fn congestion_window(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 2_000_000.0, 6_000_000.0);
    drawn.set("application.web.pages", 1);
    delay(drawn, dice, 20.0, 100.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(20_000.0, 100_000.0).round()));
    let all = ["reno", "new-reno", "sack", "linux-reno", "cubic"];
    let congestion = all[dice.between(0, 4) as usize];
    drawn.set("host.server.tcp.congestion", format!("\"{congestion}\""));
    drawn.set("link.path.loss", format!("\"{} %\"", ratio(dice.scaled(0.05, 0.5))));
}

fn loss_recovery(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 100_000.0, 1_000_000.0);
    drawn.set("application.web.pages", 3);
    drawn.set("link.path.loss", format!("\"{} %\"", ratio(dice.scaled(0.3, 3.0))));
}

/// BBR, or the first window paced: of a connection, or after an idle period.
fn paced(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 100_000.0, 1_000_000.0);
    delay(drawn, dice, 5.0, 150.0);
    match dice.between(0, 2) {
        0 => bbr(drawn, dice),
        1 => drawn.set("host.server.tcp.start", "\"paced\""),
        _ => {
            drawn.set("application.web.think", "{ uniform = { from = \"1 s\", to = \"5 s\" } }");
            drawn.set("host.server.tcp.idle_restart", "\"paced\"");
        }
    }
}

/// Pauses between writes that are longer than most of the path needs for a write.
fn application_limited(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 5_000.0, 100_000.0);
    let pause = round(dice.scaled(20.0, 800.0));
    drawn.set("application.web.behaviour.think_between_writes", format!("\"{pause} ms\""));
    let write = dice.scaled(1_000.0, 16_000.0).round();
    drawn.set("application.web.behaviour.write_size", format!("\"{write} B\""));
}

/// Another range of the delay than that of all families.
pub(super) fn delay(drawn: &mut Drawn, dice: &mut Dice, least: f64, most: f64) {
    drawn.delay_ms = round(dice.scaled(least, most));
    drawn.set("link.path.delay", format!("\"{} ms\"", drawn.delay_ms));
}

/// A page of one file.
pub(super) fn page(drawn: &mut Drawn, dice: &mut Dice, least: f64, most: f64) {
    let size = dice.scaled(least, most).round();
    drawn.set("application.web.workload.primary", format!("\"{size} B\""));
}

/// Shares of packets have four decimal places in experiments.
pub(super) fn ratio(percent: f64) -> f64 {
    (percent * 1e4).round() / 1e4
}

/// Three digits are enough for a delay, and readable.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use ackwise_lab::experiment::Experiment;

    use super::*;
    use crate::truth::sim::{axes, second};

    #[test]
    fn every_family_is_an_experiment() {
        for families in [FAMILIES, axes::FAMILIES, second::FAMILIES] {
            for number in 0..100 {
                let [mut dice, mut sender] =
                    ["sim", "sender"].map(|it| Dice::new(5).of(it, number));
                let drawn = draw(families, number, &mut dice, &mut sender);
                let base = Experiment::parse("base", BASE).unwrap();
                let settings = drawn.settings.iter().map(String::as_str);
                let experiment = base.with_all_set(settings);
                let experiment = experiment.unwrap_or_else(|why| panic!("{}: {why}", drawn.family));
                assert_eq!(experiment.cases().len(), 1, "{}", drawn.family);
            }
        }
    }

    #[test]
    fn a_quarter_of_the_linux_senders_have_bbr_and_the_others_are_what_they_were() {
        let mut senders = [0_u32; 2];
        for number in 0..400 {
            let dice = || Dice::new(5).of("sim", number);
            let mut sender = Dice::new(5).of("sender", number);
            let drawn = draw(FAMILIES, number, &mut dice(), &mut sender);
            match drawn.sender {
                BBR => senders[1] += 1,
                sender => {
                    senders[0] += u32::from(sender == LINUX);
                    let again =
                        draw(FAMILIES, number, &mut dice(), &mut Dice::new(6).of("sender", number));
                    let same = again.sender != sender || again.settings == drawn.settings;
                    assert!(same, "case {number}");
                }
            }
        }
        let share = f64::from(senders[1]) / f64::from(senders[0] + senders[1]);
        assert!((0.2..0.3).contains(&share), "{senders:?}");
    }
}
