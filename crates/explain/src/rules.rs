//! The rules of attribution, listed.

use ackwise_capture::attribution::{Rule, RuleKind};
use ackwise_text::layout::hanging_indent;

/// Every rule with its name and its first sentence, as text.
#[must_use]
pub fn rules() -> String {
    let of = |kind: RuleKind| {
        let rules = Rule::ALL.iter().filter(move |rule| rule.kind() == kind);
        rules.map(|rule| {
            let row = format!("  {:<19} {}", rule.name(), rule.text());
            hanging_indent(&row, 22, 100) + "\n"
        })
    };
    let rows = ["Rules that name a cause:\n".to_owned()].into_iter().chain(of(RuleKind::Row));
    let heading = "\nDoubts, which limit confidence and name a rival:\n".to_owned();
    rows.chain([heading]).chain(of(RuleKind::Doubt)).collect()
}

/// The same as the page `docs/rules.md`.
#[must_use]
pub fn rules_markdown() -> String {
    let mut page = "\
# Rules of `explain`

Each verdict carries the name of the rule that decided it (JSON `rule`) and of the doubt that limits its confidence, if one does (`doubt`).
`ackwise explain --rules` prints this list, and `--explain-rule NAME` one of them. Names may change. This page is generated.
"
    .to_owned();
    for (kind, heading) in [
        (RuleKind::Row, "Rules that name a cause"),
        (RuleKind::Doubt, "Doubts, which limit confidence and name a rival"),
    ] {
        page += &format!("\n## {heading}\n\n| name | rule |\n| --- | --- |\n");
        for rule in Rule::ALL.iter().filter(|rule| rule.kind() == kind) {
            page += &format!("| `{}` | {} |\n", rule.name(), rule.text());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_listed_once() {
        let (text, page) = (rules(), rules_markdown());
        for rule in Rule::ALL {
            assert_eq!(page.matches(&format!("| `{rule}` |")).count(), 1, "{rule}");
            assert_eq!(text.matches(&format!("\n  {rule} ")).count(), 1, "{rule}");
        }
    }

    #[test]
    fn the_page_in_the_documentation_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
        if std::env::var_os("ACKWISE_UPDATE").is_some() {
            std::fs::write(path, rules_markdown()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap();
        assert_eq!(page, rules_markdown(), "ACKWISE_UPDATE=1 cargo test -p ackwise-explain rules");
    }
}
