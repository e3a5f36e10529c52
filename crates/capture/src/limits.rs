//! What a capture may cost.

/// The most bytes of a method, path or protocol name that are kept. Our choice: servers refuse request
/// lines of 8 KiB, and nobody reads more than this in a table.
pub(crate) const KEPT_TEXT: usize = 1024;

/// The most fields of one HTTP/2 block that are read. Our choice: servers refuse blocks of 8 to 64 KiB,
/// and a request has some dozens of fields.
pub(crate) const FIELDS_PER_BLOCK: usize = 4096;

/// As much of a text as is kept.
pub(crate) fn kept(text: &str) -> &str {
    let fits = |end: &usize| *end <= KEPT_TEXT;
    match text.len() {
        ..=KEPT_TEXT => text,
        _ => &text[..text.char_indices().map(|(at, _)| at).take_while(fits).last().unwrap_or(0)],
    }
}
