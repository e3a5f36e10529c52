//! The pictures of reports in `docs`. `pictures.txt` has a checksum of what draws each: data, scripts and styles. After a
//! change of those, `ACKWISE_UPDATE=1 cargo test -p ackwise --test report pictures` takes the pictures again.

use std::{env, fs, path::Path};

use super::{STALLS, directory, page, simulated, started};

#[test]
fn pictures_in_docs_are_of_reports_as_they_are_written_today() {
    let directory = directory("pictures");
    let capture = simulated(&directory, STALLS);
    let explained = page(&directory, |command| command.arg("explain").arg(&capture));
    check("explain-report.png", &explained, [".packets", ".packets .frame"]);
    let reproduced = page(&directory, |command| command.args(["reproduce", "heidemann"]));
    check("reproduce-report.png", &reproduced, ["figure", "figure"]);
}

/// Compares the checksum of `page` with that of its picture, which is from the top of the first element to the bottom of the
/// second one.
fn check(picture: &str, page: &Path, elements: [&str; 2]) {
    let known = fs::read_to_string(LIST).unwrap();
    let of_page = format!("{picture} {:016x}", checksum(&fs::read_to_string(page).unwrap()));
    if known.lines().any(|line| line == of_page) {
        return;
    }
    let again = "ACKWISE_UPDATE=1 cargo test -p ackwise --test report pictures";
    assert!(env::var_os("ACKWISE_UPDATE").is_some(), "{picture} is of another report: {again}");
    let Some(browser) = started("pictures") else { return };
    browser.open(page);
    fs::write(Path::new(DOCS).join(picture), browser.picture(elements)).unwrap();
    let others = known.lines().filter(|line| !line.starts_with(picture));
    let mut lines: Vec<_> = others.chain([of_page.as_str()]).collect();
    lines.sort_unstable();
    fs::write(LIST, lines.join("\n") + "\n").unwrap();
}

/// FNV-1a of a page's scripts, which hold its data, and of its styles.
fn checksum(page: &str) -> u64 {
    let elements = ["style", "script"].map(|name| {
        let (begin, end) = (format!("<{name}"), format!("</{name}>"));
        let parts = page.split(&begin).skip(1);
        parts.filter_map(|part| part.split(&end).next()).collect::<String>()
    });
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    elements.concat().bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/pictures.txt");
