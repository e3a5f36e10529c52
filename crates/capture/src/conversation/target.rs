//! Request targets, of which reports show the path and never the query.

/// The path of a target without scheme, authority and query, and whether there is a query.
pub(super) fn split(target: &str) -> (&str, bool) {
    let (before, has_query) = match target.split_once('?') {
        Some((before, _)) => (before, true),
        None => (target, false),
    };
    let path = match before.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => before,
    };
    (path, has_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_target_has_a_path() {
        for (target, path, has_query) in [
            ("/a/b", "/a/b", false),
            ("/a?b=/c?d", "/a", true),
            ("http://h/a?b", "/a", true),
            ("http://h", "/", false),
            ("http://h?b", "/", true),
            ("/to?url=http://h/", "/to", true),
            ("/to/http://h/", "/to/http://h/", false),
            ("*", "*", false),
            ("h:443", "h:443", false),
        ] {
            assert_eq!(split(target), (path, has_query), "{target}");
        }
    }
}
