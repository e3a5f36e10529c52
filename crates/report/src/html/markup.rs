//! Data that stays data, wherever in a page it stands.

use serde::Serialize;

use crate::escape;

/// Data for a script, in an element of its own. Nothing in it can end that element: JSON has `<` in
/// strings only, and there it may be written as an escape.
pub(super) fn data_element(id: &str, data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("a report is strings and finite numbers");
    let json = escape::json(&json).replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_it_stands_in() {
        let element = data_element("d", &"</script><!--\u{202e}");
        assert_eq!(element.matches('<').count(), 2, "{element}");
        assert!(element.contains("\\u202e"), "{element}");
    }
}
