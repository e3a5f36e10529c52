//! Text that stays text, wherever in a page it stands.

use std::fmt::{self, Write as _};

use serde::Serialize;

/// Text in an element or an attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // What is no text is shown as such: NUL and the like are errors in HTML.
                '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' => {
                    f.write_char(char::REPLACEMENT_CHARACTER)?;
                }
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Data for a script, in an element of its own. Nothing in it can end that element: JSON has `<` in
/// strings only, and there it may be written as an escape.
pub(super) fn data_element(id: &str, data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("a report is strings and finite numbers");
    let json = json.replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_it_stands_in() {
        let hostile = "</script><!--<b onclick='x'>\"&\0";
        assert_eq!(
            Escaped(hostile).to_string(),
            "&lt;/script&gt;&lt;!--&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;\u{fffd}"
        );
        let element = data_element("d", &hostile);
        assert_eq!(element.matches('<').count(), 2, "{element}");
    }
}
