//! Data that stays data, wherever in a page it stands.

use std::fmt::Write as _;

use serde::Serialize;

use ackwise_text::escape;

/// Data for a script, in an element of its own. Nothing in it can end that element: JSON has `<` in
/// strings only, and there it may be written as an escape.
pub(crate) fn data_element(id: &str, data: &impl Serialize, out: &mut String) {
    let json = serde_json::to_string(data).expect("a report is strings and finite numbers");
    let _ = write!(out, "<script type=\"application/json\" id=\"{id}\">");
    // A large page is not copied as a whole.
    for (place, piece) in escape::json(&json).split('<').enumerate() {
        if place > 0 {
            out.push_str("\\u003c");
        }
        out.push_str(piece);
    }
    out.push_str("</script>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_it_stands_in() {
        let mut element = String::new();
        data_element("d", &"</script><!--\u{202e}", &mut element);
        assert_eq!(element.matches('<').count(), 2, "{element}");
        assert!(element.contains("\\u202e"), "{element}");
    }
}
