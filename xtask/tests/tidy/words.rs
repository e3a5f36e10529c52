//! Words that are not used in the field, and their replacements.
//!
//! Searched in comments, strings and prose, across line ends. Words inside an RFC quotation,
//! between `"`, are excluded.

use crate::repository::{File, assert_none, files};

/// Forbidden words, their replacements, and the number of uses when the rule was added or its limit
/// last lowered. A limit may only be lowered.
const WORDS: &[(&str, &str, usize)] = &[
    ("octet", "byte", 0),
    // Names from before version 1 of the formats are recognised.
    ("octets", "bytes", 0),
    ("Octets", "bytes", 0),
    ("nobody may", "say what is not allowed, and to whom", 2),
    ("So many", "say what is counted", 10),
    ("Ours.", "our choice, and how it was chosen", 21),
    ("Ours;", "our choice; …", 0),
    ("such a one", "name it", 0),
    ("Such a one", "name it", 0),
    ("of which it is said", "which is reported as", 0),
    ("is told", "name what it receives: is configured to, is notified of", 14),
    ("told apart", "distinguished", 6),
    ("told from", "distinguished from", 0),
    ("are told", "name what they receive", 6),
    ("is said of", "is reported about", 2),
    ("found out", "determined, detected", 10),
    ("find out", "determine, detect", 5),
    ("by lot", "at random", 0),
    ("dear to", "slow to", 0),
    ("lives from", "depends on", 0),
    ("live from", "depend on", 0),
    ("is listened on", "has a listener", 0),
    ("not spoken", "not supported", 0),
    ("food for", "say what it gives to whom", 0),
    ("It is no", "It is not a", 0),
    ("is no number", "is not a number", 2),
    ("no number of trials", "the trials were inconclusive", 0),
    ("what of the", "which part of the", 2),
    ("Who does not", "begin with the subject: A reader who does not", 2),
    ("Who wants", "begin with the subject", 0),
    ("to be had", "available", 0),
    ("but for", "except", 25),
    ("by heart", "from memory", 0),
    // Identifiers.
    ("UnderWay", "InFlight", 0),
    ("at_once", "immediately, or the size of the batch", 0),
    ("troubles", "errors, warnings", 0),
    ("Trouble", "an error, named for what failed", 0),
    ("Looker", "name what is measured", 0),
];

#[test]
fn prose_uses_the_words_of_the_field() {
    let files = files();
    let prose: Vec<_> = files.iter().filter(|file| is_prose(file)).map(Prose::of).collect();
    let mut complaints = Vec::new();
    for (word, instead, limit) in WORDS {
        let found: Vec<String> = prose.iter().flat_map(|prose| prose.places(word)).collect();
        if found.len() > *limit {
            let places = found.join("\n    ");
            complaints.push(format!(
                "\"{word}\" {} times, may be {limit}; better: {instead}\n    {places}",
                found.len()
            ));
        } else if found.is_empty() && *limit > 0 {
            complaints.push(format!("\"{word}\" is gone: lower its limit to 0"));
        }
    }
    assert_none(&complaints, "not the words of the field:");
}

#[test]
fn a_word_is_found_across_lines_and_not_in_a_quotation() {
    let found = |path: &str, text: &str, word| {
        let file = File { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        Prose::of(&file).places(word).len()
    };
    assert_eq!(found("a.rs", "/// Bound. So\n/// many are kept.\nfn a() {}\n", "So many"), 1);
    assert_eq!(found("a.md", "A count in octets, and octets\nagain.\n", "octets"), 2);
    assert_eq!(found("a.rs", "let x = address.octets();\nfrom_octets(x)\n", "octets"), 0);
    assert_eq!(
        found("a.rs", "    // RFC 9293: \"the number of octets\n    // occupied\".\n", "octets"),
        0
    );
    assert_eq!(found("a.rs", "let text = \"3 octets\";\n", "octets"), 1, "a string is ours");
    assert_eq!(found("a.rs", "// octetsize\n", "octet"), 0, "part of a longer word");
}

fn is_prose(file: &File) -> bool {
    ["rs", "md", "toml"].iter().any(|extension| file.has_extension(extension))
        && !file.path.ends_with("tidy/words.rs")
}

/// A file as one line, without comment markers and without quotations in comments.
struct Prose {
    path: String,
    text: String,
    /// Offset of each line of the file in the text.
    lines: Vec<usize>,
}

impl Prose {
    fn of(file: &File) -> Self {
        let (text, lines) = flow(file.text().unwrap_or_default(), file.has_extension("rs"));
        Self { path: file.path.clone(), text, lines }
    }

    /// Occurrences of `word`, except as part of another word or after a full stop, where it is a
    /// method.
    fn places(&self, word: &str) -> Vec<String> {
        let in_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let alone = |at: usize| {
            let before = self.text[..at].chars().next_back();
            let after = self.text[at + word.len()..].chars().next();
            !before.is_some_and(|it| in_name(it) || it == '.') && !after.is_some_and(in_name)
        };
        let place = |at: usize| {
            format!("{}:{}", self.path, self.lines.partition_point(|start| *start <= at))
        };
        let found = self.text.match_indices(word).map(|(at, _)| at);
        found.filter(|at| alone(*at)).map(place).collect()
    }
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn flow(text: &str, is_rust: bool) -> (String, Vec<usize>) {
    let (mut flow, mut lines) = (String::new(), Vec::new());
    let mut quoted = false;
    for line in text.lines() {
        lines.push(flow.len());
        let line = line.trim_start();
        let comment = ["///", "//!", "//"].iter().find_map(|mark| line.strip_prefix(mark));
        match comment {
            Some(comment) if is_rust => {
                let comment = comment.strip_prefix(' ').unwrap_or(comment);
                for (number, part) in comment.split('"').enumerate() {
                    quoted ^= number > 0;
                    flow.push_str(if quoted { "\"" } else { part });
                }
            }
            _ => {
                quoted = false;
                flow.push_str(line);
            }
        }
        flow.push(' ');
    }
    (flow, lines)
}
