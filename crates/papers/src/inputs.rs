//! What was put into an experiment without a source: its file says so in comments, reports repeat
//! it.
//!
//! A comment that begins with a word in brackets says where a value is from: `# [printed] …`, `#
//! [derived] …` from what is printed or from other sources, `# [contradicts] …` what is printed, `#
//! [input] …` (read off the result that is to be reproduced), `# [fitted] …`, or `# [ours] …` (a
//! choice). Lines of comment right below go on with it.

/// The comments of `text` about values that no source prints, each with the line's own setting.
#[must_use]
pub(crate) fn inputs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let (setting, comment) = line.split_once('#').unwrap_or((line, ""));
        let (setting, comment) = (setting.trim(), comment.trim());
        if TOLD.iter().any(|tag| comment.starts_with(tag)) {
            let setting = if setting.is_empty() { String::new() } else { format!("`{setting}` ") };
            found.push(format!("{setting}{comment}"));
            open = true;
        } else if open && setting.is_empty() && !comment.is_empty() && !comment.starts_with('[') {
            let last = found.last_mut().expect("one is open");
            last.push(' ');
            last.push_str(comment);
        } else {
            open = false;
        }
    }
    found
}

/// What reports repeat. What is printed can be looked up.
const TOLD: [&str; 5] = ["[input]", "[fitted]", "[ours]", "[derived]", "[contradicts]"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_with_a_tag_are_told() {
        let text = "\
# A comment.
rate = \"10 Mb/s\" # [printed] section 2.1
delay = \"1 ms\" # [fitted] on row 1:
    # it has no source
# [printed] as everybody knows

# [input] of Figure 4
other = 1
think = \"1 s\" # [contradicts] section 4.1, which prints \"1.0 msec\"
";
        let expected = [
            "`delay = \"1 ms\"` [fitted] on row 1: it has no source",
            "[input] of Figure 4",
            "`think = \"1 s\"` [contradicts] section 4.1, which prints \"1.0 msec\"",
        ];
        assert_eq!(inputs(text), expected);
    }
}
