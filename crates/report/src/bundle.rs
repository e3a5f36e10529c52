//! What runs in the page, and the policy that lets nothing else run.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};

/// A page's scripts, each for an element of its own, in order.
pub(crate) fn scripts() -> [String; 2] {
    let library = format!("/*\n{LICENCE}*/\n{UPLOT}");
    // One function around all of them: nothing of ours is global.
    let own = format!("(() => {{\n\"use strict\";\n{}}})();\n", OWN_SCRIPTS.concat());
    [library, own]
}

/// A page's style sheets.
pub(crate) const STYLES: [&str; 2] =
    [include_str!("../assets/uplot/uPlot.min.css"), include_str!("../assets/report/report.css")];

const UPLOT: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const LICENCE: &str = include_str!("../assets/uplot/LICENSE");

const OWN_SCRIPTS: [&str; 8] = [
    include_str!("../assets/report/dom.js"),
    include_str!("../assets/report/timeline.js"),
    include_str!("../assets/report/zoom.js"),
    include_str!("../assets/report/plot.js"),
    include_str!("../assets/report/waterfall.js"),
    include_str!("../assets/report/sequence.js"),
    include_str!("../assets/report/stalls.js"),
    include_str!("../assets/report/main.js"),
];

/// A Content-Security-Policy under which the page loads nothing, sends nothing, and runs these
/// scripts and no others.
pub(crate) fn policy(scripts: &[String]) -> String {
    let hashes = |texts: &mut dyn Iterator<Item = &str>| -> String {
        texts.map(|text| format!(" '{}'", hash(text))).collect()
    };
    format!(
        "default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'",
        hashes(&mut scripts.iter().map(String::as_str)),
        hashes(&mut STYLES.into_iter()),
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}
