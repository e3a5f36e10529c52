//! How large each crate is: numbers that may fall, and rise only with a reason.
//!
//! `xtask/ratchet.toml` has a table for each crate. Who needs a larger number writes it there by hand, with the reason
//! as a comment on its line; `cargo xtask ratchet --update` writes smaller ones. Tests are not counted.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The file with the numbers.
pub const FILE: &str = "xtask/ratchet.toml";

/// What is counted.
const KINDS: [&str; 5] = ["lines", "files", "items", "bools", "fields"];

const BOOLS: &str = "clippy::fn_params_excessive_bools";

const HEAD: &str = "\
# Numbers that may fall, and rise only with a reason on their line: lines = 1250 # reads pcapng
#
# lines: source lines without tests, rounded up to the next 50 (our choice: small changes leave the number alone)
# files: source files, items: public items, bools: expected `clippy::fn_params_excessive_bools`
# fields: fields that are `pub(super)`
#
# `cargo xtask ratchet` prints what is counted, `cargo xtask ratchet --update` lowers the numbers.
";

/// A number, and why it was raised last.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Limit {
    number: usize,
    reason: Option<String>,
}

/// The numbers of each crate, in the order of the file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ratchet(BTreeMap<String, [Limit; 5]>);

impl Ratchet {
    /// Counts in files, with their paths from the root.
    pub fn count<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut crates: BTreeMap<String, [Limit; 5]> = BTreeMap::new();
        for (path, text) in files {
            let Some(name) = crate_of(path) else { continue };
            let code = || text.lines().take(lines_without_tests(text)).map(str::trim_start);
            let counts = [
                code().count(),
                1,
                code().filter(|line| is_public(line)).count(),
                code()
                    .filter(|line| line.trim_start_matches("#[expect(").starts_with(BOOLS))
                    .count(),
                code().filter(|line| is_field(line)).count(),
            ];
            let sums = crates.entry(name.to_owned()).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| sum.number += count);
        }
        Self(crates)
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If a line is not as this module writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut crates: BTreeMap<String, [Limit; 5]> = BTreeMap::new();
        let mut current = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                current = Some(crates.entry(name.to_owned()).or_default());
                continue;
            }
            let (value, reason) = match line.split_once('#') {
                Some((value, reason)) => (value, Some(reason.trim().to_owned())),
                None => (line, None),
            };
            let limit = value.split_once('=').and_then(|(kind, number)| {
                let kind = KINDS.iter().position(|it| *it == kind.trim())?;
                Some((kind, Limit { number: number.trim().parse().ok()?, reason }))
            });
            match (limit, &mut current) {
                (Some((kind, limit)), Some(limits)) => limits[kind] = limit,
                _ => return Err(format!("{FILE}: cannot read {line:?} (expected lines = 50)")),
            }
        }
        Ok(Self(crates))
    }

    /// The content of the file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, limits) in &self.0 {
            let _ = write!(text, "\n[{name}]\n");
            for (kind, Limit { number, reason }) in KINDS.iter().zip(limits) {
                let reason = reason.as_ref().map_or_else(String::new, |it| format!(" # {it}"));
                let _ = writeln!(text, "{kind} = {number}{reason}");
            }
        }
        text
    }

    /// A table of exact counts, with their sums.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!("{:<10}", "crate");
        let mut sums = [0; 5];
        for kind in KINDS {
            let _ = write!(text, "{kind:>9}");
        }
        for (name, limits) in &self.0 {
            let _ = write!(text, "\n{name:<10}");
            for (limit, sum) in limits.iter().zip(&mut sums) {
                *sum += limit.number;
                let _ = write!(text, "{:>9}", limit.number);
            }
        }
        let _ = write!(text, "\n{:<10}", "sum");
        for sum in sums {
            let _ = write!(text, "{sum:>9}");
        }
        text + "\n"
    }

    /// Where these counts are not the numbers of the file.
    #[must_use]
    pub fn differs_from(&self, file: &Self) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut names: Vec<_> = self.0.keys().chain(file.0.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            for (kind, kind_name) in KINDS.iter().enumerate() {
                let [count, limit] = [self, file].map(|it| it.limit(name, kind));
                let count = rounded(kind, count.map_or(0, |it| it.number));
                let limit = limit.map_or(0, |it| it.number);
                if count > limit {
                    complaints.push(format!(
                        "{name}: {kind_name} = {count}, more than {limit}: make them fewer, or write {count} with a reason"
                    ));
                } else if count < limit {
                    complaints.push(format!(
                        "{name}: {kind_name} = {count}, fewer than {limit}: run `cargo xtask ratchet --update`"
                    ));
                }
            }
        }
        complaints
    }

    /// The numbers that are larger than `before`, without a new reason. A new crate needs none.
    #[must_use]
    pub fn raised_from(&self, before: &Self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (name, limits) in &self.0 {
            for (kind, limit) in limits.iter().enumerate() {
                let raised = before.limit(name, kind).filter(|old| limit.number > old.number);
                if raised.is_some_and(|old| limit.reason.is_none() || limit.reason == old.reason) {
                    let (kind, number) = (KINDS[kind], limit.number);
                    complaints
                        .push(format!("{name}: {kind} = {number} needs a reason on its line"));
                }
            }
        }
        complaints
    }

    /// The numbers of the file, lowered to these counts. A crate that the file does not have is added.
    #[must_use]
    pub fn lowered(&self, file: &Self) -> Self {
        let lower = |name: &String, kind, count: &Limit| {
            let count = Limit { number: rounded(kind, count.number), reason: None };
            file.limit(name, kind)
                .filter(|old| old.number <= count.number)
                .cloned()
                .unwrap_or(count)
        };
        let crates = self.0.iter().map(|(name, counts)| {
            let mut limits: [Limit; 5] = Default::default();
            for (kind, count) in counts.iter().enumerate() {
                limits[kind] = lower(name, kind, count);
            }
            (name.clone(), limits)
        });
        Self(crates.collect())
    }

    fn limit(&self, name: &str, kind: usize) -> Option<&Limit> {
        self.0.get(name).map(|limits| &limits[kind])
    }
}

/// The crate of a source file that is none of its tests.
fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/").unwrap_or(path).split_once("/src/")?;
    let is_test = file.split('/').any(|part| part.trim_end_matches(".rs").ends_with("tests"));
    (!name.contains('/') && file.ends_with(".rs") && !is_test).then_some(name)
}

/// Lines before the tests at the bottom of a source file.
#[must_use]
pub fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "))
        .unwrap_or(lines.len())
}

fn is_public(line: &str) -> bool {
    const ITEMS: [&str; 13] = [
        "async", "const", "enum", "extern", "fn", "macro", "mod", "static", "struct", "trait",
        "type", "unsafe", "use",
    ];
    let word = line.strip_prefix("pub ").and_then(|rest| rest.split(' ').next());
    word.is_some_and(|word| ITEMS.contains(&word))
}

fn is_field(line: &str) -> bool {
    let name = line.strip_prefix("pub(super) ").and_then(|rest| rest.split_once(':'));
    name.is_some_and(|(name, _)| !name.contains(' '))
}

fn rounded(kind: usize, count: usize) -> usize {
    if KINDS[kind] == "lines" { count.next_multiple_of(50) } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "pub fn a() {}\npub(super) struct A {\n    pub(super) b: u8,\n}\n\
                        \n#[cfg(test)]\nmod tests {\n    pub fn b() {}\n}\n";

    fn counted() -> Ratchet {
        Ratchet::count([
            ("crates/tcp/src/a.rs", CODE),
            ("crates/tcp/src/a/tests.rs", CODE),
            ("crates/tcp/tests/a.rs", CODE),
            ("bench/src/main.rs", "fn main() {}\n"),
        ])
    }

    #[test]
    fn code_is_counted_and_tests_are_not() {
        let numbers = |name| counted().0[name].clone().map(|it: Limit| it.number);
        assert_eq!(numbers("tcp"), [5, 1, 1, 0, 1]);
        assert_eq!(numbers("bench"), [1, 1, 0, 0, 0]);
        assert_eq!(
            counted().table().lines().last(),
            Some("sum               6        2        1        0        1")
        );
    }

    #[test]
    fn tests_at_the_bottom_do_not_count() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";
        assert_eq!(lines_without_tests(text), 2);
        assert_eq!(lines_without_tests("fn a() {}\n"), 1);
        // A single test item in the middle does not end the code.
        assert_eq!(lines_without_tests("#[cfg(test)]\nuse a;\nfn b() {}\n"), 3);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let file = counted().lowered(&Ratchet::default());
        assert_eq!(Ratchet::parse(&file.to_toml()), Ok(file.clone()));
        assert!(counted().differs_from(&file).is_empty());
        assert!(Ratchet::parse("lines = 50\n").is_err(), "of no crate");
        assert!(Ratchet::parse("[a]\nwords = 50\n").is_err());
    }

    #[test]
    fn a_rise_needs_a_reason_and_a_fall_is_written() {
        let file = |items: &str| Ratchet::parse(&format!("[tcp]\n{items}\n")).unwrap();
        let [one, two] = ["items = 1", "items = 2"].map(file);
        assert_eq!(two.raised_from(&one).len(), 1);
        assert!(one.raised_from(&two).is_empty());
        let reasoned = file("items = 2 # a rate");
        assert!(reasoned.raised_from(&one).is_empty());
        assert_eq!(file("items = 3 # a rate").raised_from(&reasoned).len(), 1, "the old reason");
        assert!(
            counted().differs_from(&two).iter().any(|it| it.contains("items = 1, fewer than 2"))
        );
        let lowered = counted().lowered(&reasoned);
        assert_eq!(lowered.0["tcp"][2], Limit { number: 1, reason: None });
        let kept = counted().lowered(&file("items = 0 # none"));
        assert_eq!(kept.0["tcp"][2].number, 0, "a rise is written by hand");
    }
}
