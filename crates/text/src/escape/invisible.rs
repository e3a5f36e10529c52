//! Characters without an appearance of their own.

/// Whether `c` shows nothing, or changes how other text is shown: a control character, a line or
/// paragraph separator, a format character (`Cf`: joiners, marks and overrides of direction, tags),
/// or another one that Unicode lets a renderer ignore (`Default_Ignorable_Code_Point`).
pub(super) fn is_invisible(c: char) -> bool {
    c.is_control() || (!c.is_ascii() && is_in(c))
}

fn is_in(c: char) -> bool {
    let after = INVISIBLE.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= INVISIBLE[after - 1].1
}

/// Unicode 17.0, `DerivedGeneralCategory.txt` (Cf, Zl, Zp) and `DerivedCoreProperties.txt`, in order;
/// neighbours are joined.
const INVISIBLE: [(char, char); 25] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];
