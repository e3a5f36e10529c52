//! The pages of `ackwise run --html` and `ackwise reproduce --html`.

use serde_json::json;

use super::{Browser, directory, page, painted, started};

#[test]
fn a_reproduction_shows_the_papers_figures() {
    let Some(browser) = reproduction("figures") else { return };
    let lead = browser.text(".lead");
    assert!(lead.contains("within their tolerances"), "{lead}");
    // Figures 1 and 3, each as explained and beside what is printed, and where pacing wins with three windows.
    assert_eq!(browser.evaluate("return document.querySelectorAll('canvas').length"), json!(7));
    assert!(painted(&browser), "the first plot is empty");
    let stalls = browser.text(".stalls");
    assert!(stalls.contains("short-initial-segment (server) 18"), "{stalls}");
    let names = "return [...document.querySelectorAll('.row')].map((it) => it.id)";
    let names = browser.evaluate(names);
    assert_eq!(names.as_array().map(Vec::len), Some(3), "one and two exchanges: {names}");
    assert_eq!(names[0], json!("waterfall-1-0"));
    assert_eq!(names[1], json!("waterfall-2-0"));
    let claims = "return document.querySelectorAll('td.good').length > 30";
    assert_eq!(browser.evaluate(claims), json!(true));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_plot_is_read_zoomed_and_cleared_by_key() {
    let Some(browser) = reproduction("keys") else { return };
    // Right, right: from point to point.
    browser.keys("figure .frame", "\u{e014}\u{e014}");
    let said = browser.text("figure .says");
    assert!(said.starts_with("time (s): ") && said.contains(" ours "), "{said}");
    browser.keys("figure .frame", "+");
    let zoomed = browser.text("figure .shown");
    browser.keys("figure .frame", "0");
    assert_ne!(browser.text("figure .shown"), zoomed, "0 shows all");
    browser.keys("figure .u-legend .u-series:nth-child(2) th", " ");
    let off = "return document.querySelector('figure .u-series:nth-child(2)').className";
    assert_eq!(browser.evaluate(off), json!("u-series u-off"));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_reproduction_fits_a_phone_and_paper_and_the_dark() {
    let Some(browser) = reproduction("phone") else { return };
    browser.emulate_phone();
    browser.emulate_media("screen", "dark");
    let too_wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.evaluate(too_wide), json!(false));
    browser.emulate_media("print", "light");
    let hidden = "return getComputedStyle(document.querySelector('nav')).display";
    assert_eq!(browser.evaluate(hidden), json!("none"));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_sweep_is_plotted_by_its_first_number() {
    let Some(browser) = started("sweep") else { return };
    // Six ways to restart after idle, with three queues; three measures.
    let run = ["run", "idle_restart", "--seeds", "1"];
    browser.open(&page(&directory("sweep"), |command| command.args(run)));
    assert_eq!(browser.text("h2"), "By link.bottleneck.queue");
    assert_eq!(browser.evaluate("return document.querySelectorAll('canvas').length"), json!(3));
    assert!(painted(&browser), "the plot is empty");
    let lines = "return document.querySelectorAll('figure .u-series').length";
    assert_eq!(browser.evaluate(lines), json!(3 * 6));
    browser.keys("figure .frame", "\u{e014}\u{e014}");
    let said = browser.text("figure .says");
    assert!(said.starts_with("link.bottleneck.queue (packets): 25 · "), "{said}");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_run_that_stands_alone_shows_its_packets() {
    let Some(browser) = started("alone") else { return };
    let run = ["run", "stalls", "--case", "1"];
    browser.open(&page(&directory("alone"), |command| command.args(run)));
    assert!(painted(&browser), "the plot is empty");
    let stalls = browser.text(".stalls");
    assert!(stalls.contains("nagle-delayed-ack (server)"), "{stalls}");
    assert_eq!(browser.console(), Vec::<String>::new());
}

fn reproduction(test: &str) -> Option<Browser> {
    let browser = started(test)?;
    browser.open(&page(&directory(test), |command| command.args(["reproduce", "heidemann"])));
    Some(browser)
}
