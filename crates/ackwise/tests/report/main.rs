//! The pages of `--html`, opened in a real Chromium from a file; here that of `ackwise explain`.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod browser;
mod pages;
mod pictures;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use ackwise_testing::skip;
use browser::Browser;
use serde_json::{Value, json};

/// The stalls of 1996: 20 pages, every connection with several.
const STALLS: &[&str] = &["--case", "1"];

/// The same with a connection for each of 5,100 requests.
const CONNECTIONS: usize = 5_100;
const MANY: &[&str] = &[
    "--case=1",
    "--set=application.web.pages=1700",
    "--set=application.web.transfer=\"serial\"",
    "--set=duration=\"3000 s\"",
];

#[test]
fn a_report_opens_from_a_file_and_shows_the_stall() {
    let Some(browser) = open("shows", STALLS) else { return };
    let lead = browser.text(".lead");
    assert!(lead.contains("held the last segment of a response (Nagle)"), "{lead}");
    let stalls = browser.text(".stalls");
    assert!(stalls.contains("nagle-delayed-ack (server)"), "{stalls}");
    // Each packet with what it is, as a held segment, the ACK that releases it, and the segment.
    let row = browser.text(".stalls li");
    let kinds: Vec<_> = row.split(" (").skip(2).map(|it| it.split(')').next().unwrap()).collect();
    assert_eq!(kinds, ["data", "ACK", "data"], "{row}");
    let headings =
        "return [...document.querySelectorAll('.packets h3')].map((it) => it.textContent)";
    let headings = browser.evaluate(headings).to_string();
    assert!(headings.contains("What data to client waited for"), "{headings}");
    assert!(browser.evaluate("return document.querySelectorAll('.piece').length") != json!(0));
    assert!(painted(&browser), "the plot is empty");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn zoom_by_dragging_by_key_and_by_a_click_on_a_stall() {
    let Some(browser) = open("zoom", STALLS) else { return };
    let whole = browser.text(".shown");
    browser.drag_across(".frame .u-over", [0.3, 0.5]);
    let dragged = browser.text(".shown");
    assert_ne!(dragged, whole, "dragging zooms");
    browser.keys(".frame", "0");
    assert_eq!(browser.text(".shown"), whole, "0 shows all");
    browser.keys(".frame", "+");
    assert_ne!(browser.text(".shown"), whole, "+ zooms");
    browser.evaluate("document.querySelector('.stalls button').click()");
    assert_ne!(browser.text(".shown"), whole, "a stall is zoomed to");
    browser.keys(".frame", "\u{e014}\u{e014}");
    let packet = browser.text(".says");
    assert!(packet.starts_with("packet ") && packet.contains("seq"), "{packet}");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn exchanges_are_chosen_by_key_and_by_cause() {
    let Some(browser) = open("keys", STALLS) else { return };
    // Down, down, Enter.
    browser.keys(".list", "\u{e015}\u{e015}\u{e007}");
    let chosen = browser.evaluate(
        "return document.querySelector('.row[aria-selected=true]').getAttribute('aria-posinset')",
    );
    assert_eq!(chosen, json!("3"));
    let all = browser.text(".count");
    browser.choose(".waterfall select", 1, "nagle-delayed-ack");
    assert_ne!(browser.text(".count"), all);
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn five_thousand_connections_do_not_freeze_it() {
    /// Slower than anybody's machine, faster than a page that draws all at once. Ours.
    const LONGEST: Duration = Duration::from_secs(20);
    let started = Instant::now();
    let Some(browser) = open("many", MANY) else { return };
    let options = "return document.querySelectorAll('.packets select')[0].options.length";
    assert_eq!(browser.evaluate(options), json!(CONNECTIONS));
    let rows = "return document.querySelectorAll('.row').length";
    assert!(browser.evaluate(rows).as_u64().unwrap() < 100, "only what is seen is there");
    browser.evaluate("document.querySelector('.list').scrollTop = 60000");
    browser.choose(".packets select", 0, "5000");
    assert!(painted(&browser), "the plot is empty");
    assert_eq!(browser.console(), Vec::<String>::new());
    assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());
}

#[test]
fn it_fits_a_phone_and_is_drawn_in_the_dark() {
    let Some(browser) = open("phone", STALLS) else { return };
    browser.emulate_phone();
    browser.emulate_media("screen", "dark");
    let too_wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.evaluate(too_wide), json!(false));
    let background = "return getComputedStyle(document.documentElement).backgroundColor";
    assert_eq!(browser.evaluate(background), json!("rgb(20, 22, 26)"));
    assert!(painted(&browser), "the plot is empty");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn the_table_of_servers_fits_a_window_and_a_phone() {
    let Some(browser) = open("servers", STALLS) else { return };
    let cut_off = "const tables = [...document.querySelectorAll('table')];
        const servers = tables.find((it) => it.caption?.textContent.startsWith('Connections by server'));
        return servers.offsetWidth > servers.parentElement.clientWidth";
    for (width, mobile) in [(1_000, false), (400, true)] {
        browser.emulate_screen(width, mobile);
        assert_eq!(browser.evaluate(cut_off), json!(false), "{width} px");
    }
}

/// The report of a simulated capture in a browser, or a word on why there is none.
fn open(test: &str, run: &[&str]) -> Option<Browser> {
    let browser = started(test)?;
    let directory = directory(test);
    let capture = simulated(&directory, run);
    browser.open(&page(&directory, |command| command.arg("explain").arg(&capture)));
    Some(browser)
}

/// The capture of a run of the experiment `stalls`.
fn simulated(directory: &Path, run: &[&str]) -> PathBuf {
    let capture = directory.join("capture.pcap");
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/experiments/stalls.toml");
    ackwise(Command::new(ACKWISE).args(["run", experiment, "--pcap"]).arg(&capture).args(run));
    capture
}

/// A browser, or a word on why there is none.
fn started(test: &str) -> Option<Browser> {
    let skipped = |missing| skip(&format!("report::{test}"), missing);
    Browser::start().map_err(skipped).ok()
}

fn directory(test: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{test}"));
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// The page that a command writes.
fn page(directory: &Path, what: impl Fn(&mut Command) -> &mut Command) -> PathBuf {
    let file = directory.join("report.html");
    ackwise(what(&mut Command::new(ACKWISE)).arg("--html").arg(&file));
    file
}

const ACKWISE: &str = env!("CARGO_BIN_EXE_ackwise");

fn ackwise(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Whether the time-sequence plot has anything on its canvas.
fn painted(browser: &Browser) -> bool {
    let script = "const canvas = document.querySelector('.frame canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value !== 0);";
    browser.evaluate(script) == Value::Bool(true)
}
