//! Text in an element or an attribute.

use std::fmt::{self, Write as _};

use super::invisible::is_invisible;

/// Shows text as HTML: no tag, no character reference, no end of an attribute.
#[derive(Clone, Copy, Debug)]
pub struct Html<'a>(pub &'a str);

impl fmt::Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // A blank, whatever it is between.
                '\n' | '\t' => f.write_char(letter)?,
                _ if is_invisible(letter) => write!(f, "{}", letter.escape_default())?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_it_stands_in() {
        assert_eq!(
            Html("</script><!--<b onclick='x'>\"&\0\u{202e}").to_string(),
            "&lt;/script&gt;&lt;!--&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;\\u{0}\\u{202e}"
        );
    }
}
