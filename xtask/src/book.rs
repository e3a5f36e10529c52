//! `cargo xtask book`: builds `docs` with mdBook and checks the links of the result with lychee.
//!
//! mdBook copies everything beside its pages into the book, and some of our pages are at the root of
//! the repository. So the pages are first copied into `target/book/src`, at the same paths.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, bail, ensure};

use crate::console::Printer;
use xtask::install;
use xtask::install::needs::{LYCHEE, MDBOOK, Need};
use xtask::process::{self, End, Ended, Output};

/// Builds the book and says where it is.
///
/// # Errors
///
/// If a tool cannot be installed or started, or a page cannot be copied.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    install::provide(Need::Tool(&MDBOOK))?;
    install::provide(Need::Tool(&LYCHEE))?;
    Ok(match build(LIMIT, &Printer::plain())?.end {
        End::Succeeded => {
            println!("{DIRECTORY}/html/index.html");
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(1),
    })
}

/// Copies the pages, builds the book, and checks its links; `limit` is for each program.
///
/// # Errors
///
/// If a program cannot be started, or a page cannot be copied.
pub(crate) fn build(limit: Duration, printer: &Printer) -> anyhow::Result<Ended> {
    lay_out().context("cannot copy the pages of the book")?;
    let built = step(printer, limit, "mdbook", &["build", DIRECTORY])?;
    if built.end != End::Succeeded {
        return Ok(built);
    }
    // mdBook's 404.html links from the root of a server.
    let check = ["--offline", "--no-progress", "--include-fragments", "--exclude-path", "404.html"];
    let html = format!("{DIRECTORY}/html");
    let checked = step(printer, limit, "lychee", &[&check[..], &[html.as_str()]].concat())?;
    Ok(Ended { end: checked.end, cpu: built.cpu + checked.cpu })
}

fn step(
    printer: &Printer,
    limit: Duration,
    program: &str,
    arguments: &[&str],
) -> anyhow::Result<Ended> {
    printer.line(&format!("{program} {}", arguments.join(" ")));
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", install::path());
    let mut take = |line: &str| printer.line(line);
    process::run_measured(&mut command, Output::TakeAll(&mut take), limit)
}

/// Copies what git tracks of the pages, so that a file forgotten in a commit is missed here too.
fn lay_out() -> anyhow::Result<()> {
    match fs::remove_dir_all(DIRECTORY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let summary = fs::read_to_string(SUMMARY).context(SUMMARY)?;
    let chapters: BTreeSet<String> = links(&summary).map(|link| resolve(SUMMARY, link)).collect();
    write("SUMMARY.md", from_root(&summary).as_bytes())?;
    for path in tracked()? {
        let bytes = fs::read(&path).context(path.clone())?;
        let to = match path.as_str() {
            CONFIGURATION => "../book.toml".to_owned(),
            page if is_page(page) && !chapters.contains(page) => plain_name(page),
            other => page_name(other),
        };
        match str::from_utf8(&bytes) {
            Ok(text) if is_page(&path) => write(&to, for_book(text, &path, &chapters).as_bytes())?,
            _ => write(&to, &bytes)?,
        }
    }
    Ok(())
}

/// Writes a file of the book's source.
fn write(path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let path = Path::new(DIRECTORY).join("src").join(path);
    fs::create_dir_all(path.parent().context("a file has a directory")?)?;
    fs::write(&path, bytes).with_context(|| path.display().to_string())
}

fn tracked() -> anyhow::Result<Vec<String>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "docs"]).args(AT_ROOT);
    let mut paths = Vec::new();
    let mut take = |line: &str| paths.push(line.to_owned());
    let end = process::run(&mut command, Output::Take(&mut take), QUERY_LIMIT)?;
    ensure!(end == End::Succeeded, "git ls-files failed");
    if paths.is_empty() {
        bail!("git tracks no page");
    }
    Ok(paths)
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

/// `SUMMARY.md` with links from the root of the repository.
fn from_root(summary: &str) -> String {
    with_links(summary, |link| page_name(&resolve(SUMMARY, link)))
}

/// A page with the links that it has in the book.
fn for_book(text: &str, path: &str, chapters: &BTreeSet<String>) -> String {
    with_links(text, |link| {
        let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
        if !is_page(file) || file.contains(':') {
            link.to_owned()
        } else if !chapters.contains(&resolve(path, file)) {
            plain_name(file)
        } else if fragment.is_empty() {
            page_name(file)
        } else {
            format!("{}#{fragment}", page_name(file))
        }
    })
}

/// A directory's `README.md` is its index in the book.
fn page_name(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(directory) => format!("{directory}index.md"),
        None => path.to_owned(),
    }
}

/// mdBook drops pages that are not in its summary; as text they stay.
fn plain_name(path: &str) -> String {
    format!("{}.txt", path.trim_end_matches(".md"))
}

/// `text` with each link replaced.
fn with_links(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("](");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str("](");
        match part.split_once(')') {
            Some((link, rest)) => {
                result.push_str(&replace(link));
                result.push(')');
                result.push_str(rest);
            }
            None => result.push_str(part),
        }
    }
    result
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|part| part.split_once(')')).map(|(link, _)| link)
}

/// The path, from the root, of a link in the page `from`.
fn resolve(from: &str, link: &str) -> String {
    let directory = from.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Relative to the root of the repository.
const DIRECTORY: &str = "target/book";
const SUMMARY: &str = "docs/SUMMARY.md";
const CONFIGURATION: &str = "docs/book.toml";

/// Pages at the root of the repository, and files that they link to.
const AT_ROOT: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "fuzz/README.md",
];

const QUERY_LIMIT: Duration = Duration::from_secs(30);
/// Time limit of each program (our choice; both take seconds).
const LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_summary_start_at_the_root() {
        let text = "[Introduction](../README.md)\n- [Check](check.md)\n";
        assert_eq!(from_root(text), "[Introduction](index.md)\n- [Check](docs/check.md)\n");
    }

    #[test]
    fn a_page_outside_the_book_is_linked_as_text() {
        let chapters = BTreeSet::from(["docs/check.md".to_owned()]);
        let text = "[a](check.md#exit) [b](findings.md#table) [c](a.png) [d](https://a.org/b.md)";
        let expected = "[a](check.md#exit) [b](findings.txt) [c](a.png) [d](https://a.org/b.md)";
        assert_eq!(for_book(text, "docs/explain.md", &chapters), expected);
    }
}
