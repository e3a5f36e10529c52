//! Groups of bars as an SVG file of its own: for pages of documentation.
//!
//! The file needs no script and no font of its own, and is readable on light and on dark pages
//! (`prefers-color-scheme`). The same values give the same bytes. Not here: lines over an axis, which the page of
//! `ackwise-report` draws.

use std::fmt::Write as _;

use crate::{
    escape::Html,
    words::{decimals, grouped},
};

/// Values side by side: one group of bars for each case, one bar for each source.
///
/// ```
/// use ackwise_text::Bars;
///
/// let mut bars = Bars::new("Time of a page", "milliseconds", ["published", "kernel"]);
/// bars.remark = "on the kernel: holds".to_owned();
/// bars.add("head apart", [Some(605.0), Some(27.7)]);
/// bars.add("joined", [Some(195.0), None]);
/// assert!(bars.svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug)]
pub struct Bars {
    /// What it shows, or claims.
    pub title: String,
    /// One line below the title.
    pub remark: String,
    unit: String,
    sources: Vec<String>,
    groups: Vec<(String, Vec<Option<f64>>)>,
}

impl Bars {
    /// More sources than these nobody tells apart; further ones are not drawn (our choice).
    pub const MAX_SOURCES: usize = 6;

    /// More groups do not fit on a page; further ones are not drawn (our choice).
    pub const MAX_GROUPS: usize = 24;

    /// Without a group. `unit` is that of all values, for the axis.
    #[must_use]
    pub fn new<'s>(title: &str, unit: &str, sources: impl IntoIterator<Item = &'s str>) -> Self {
        let sources = sources.into_iter().take(Self::MAX_SOURCES).map(str::to_owned).collect();
        let (title, unit) = (title.to_owned(), unit.to_owned());
        Self { title, remark: String::new(), unit, sources, groups: Vec::new() }
    }

    /// Adds a case: a value of each source, in their order. What is not finite, or less than zero, counts as unknown.
    pub fn add(&mut self, case: &str, values: impl IntoIterator<Item = Option<f64>>) {
        let known = |value: Option<f64>| value.filter(|it| it.is_finite() && *it >= 0.0);
        let values = values.into_iter().map(known).take(self.sources.len()).collect();
        if self.groups.len() < Self::MAX_GROUPS {
            self.groups.push((case.to_owned(), values));
        }
    }

    /// The file.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("a string takes every write");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let group = self.sources.len() * BAR + GAP;
        let bottom = TOP + self.groups.len() * group;
        let (height, right) = (bottom + FOOT, LEFT + WIDTH);
        let all = self.groups.iter().flat_map(|(_, values)| values.iter().flatten());
        let step = step(all.copied().fold(0.0, f64::max));
        let top_value = step * f64::from(STEPS);
        let width = right + MARGIN;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"\n  \
             width=\"{width}\" height=\"{height}\" role=\"img\"\n  aria-label=\"{}\">\n<style>{STYLE}</style>",
            Html(&self.title)
        )?;
        writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>")?;
        writeln!(out, "<text class=\"title\" x=\"12\" y=\"22\">{}</text>", Html(&self.title))?;
        writeln!(out, "<text class=\"mute\" x=\"12\" y=\"40\">{}</text>", Html(&self.remark))?;
        self.write_legend(out)?;
        for tick in 0..=STEPS {
            let value = step * f64::from(tick);
            let x = LEFT as f64 + WIDTH as f64 * f64::from(tick) / f64::from(STEPS);
            writeln!(out, "<path class=\"grid\" d=\"M{x:.0} {}V{bottom}\"/>", TOP - 6)?;
            let label = number(value);
            writeln!(
                out,
                "<text class=\"tick\" x=\"{x:.0}\" y=\"{}\">{label}</text>",
                bottom + 16
            )?;
        }
        let middle = LEFT + WIDTH / 2;
        let unit = Html(&self.unit);
        writeln!(out, "<text class=\"tick\" x=\"{middle}\" y=\"{}\">{unit}</text>", bottom + 34)?;
        for (place, (case, values)) in self.groups.iter().enumerate() {
            let y = TOP + place * group;
            let text = y + self.sources.len() * BAR / 2 + 4;
            let case = Html(case);
            writeln!(out, "<text class=\"case\" x=\"{}\" y=\"{text}\">{case}</text>", LEFT - 8)?;
            for (source, value) in values.iter().enumerate() {
                write_bar(out, y + source * BAR, source, *value, top_value)?;
            }
        }
        writeln!(out, "</svg>")
    }

    fn write_legend(&self, out: &mut String) -> std::fmt::Result {
        let mut x = 12;
        for (source, name) in self.sources.iter().enumerate() {
            writeln!(
                out,
                "<rect class=\"s{source}\" x=\"{x}\" y=\"51\" width=\"10\" height=\"10\"/>"
            )?;
            writeln!(out, "<text class=\"mute\" x=\"{}\" y=\"60\">{}</text>", x + 15, Html(name))?;
            x += 15 + 7 * name.chars().count() + 18;
        }
        Ok(())
    }
}

fn write_bar(
    out: &mut String,
    y: usize,
    source: usize,
    value: Option<f64>,
    top_value: f64,
) -> std::fmt::Result {
    let text = y + BAR - 4;
    let Some(value) = value else {
        return writeln!(out, "<text class=\"mute\" x=\"{}\" y=\"{text}\">–</text>", LEFT + 4);
    };
    let width = WIDTH as f64 * value / top_value;
    let height = BAR - 2;
    writeln!(
        out,
        "<rect class=\"s{source}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>\n\
         <text class=\"value\" x=\"{:.1}\" y=\"{text}\">{}</text>",
        LEFT as f64 + width + 4.0,
        number(value)
    )
}

/// The distance of the axis' ticks, so that the largest value is within [`STEPS`] of them: 1, 2, 2.5 or 5 times a
/// power of ten.
fn step(largest: f64) -> f64 {
    let mut power = 0.001;
    while power < 1e12 {
        for digit in [1.0, 2.0, 2.5, 5.0] {
            if digit * power * f64::from(STEPS) >= largest {
                return digit * power;
            }
        }
        power *= 10.0;
    }
    largest.max(1.0) / f64::from(STEPS)
}

/// Three digits, or all before the point.
fn number(value: f64) -> String {
    let decimals = if value == value.round() { 0 } else { decimals(value) };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((&text[..], None), |(a, b)| (a, Some(b)));
    let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), grouped);
    rest.map_or_else(|| whole.clone(), |rest| format!("{whole}.{rest}"))
}

/// Pixels: to the left of the bars for the cases' names, of the longest bar, and around it for the largest value.
const LEFT: usize = 210;
const WIDTH: usize = 400;
const MARGIN: usize = 70;
/// Above the bars, for title, remark and legend; below them, for the axis.
const TOP: usize = 80;
const FOOT: usize = 44;
const BAR: usize = 15;
const GAP: usize = 12;
/// Distances between ticks on the axis.
const STEPS: u32 = 4;

/// Colours that differ in lightness too, so that they are told apart without hue (after Okabe and Ito).
const STYLE: &str = "
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-size:15px;font-weight:600}
.mute,.tick{fill:#59636e}
.tick{text-anchor:middle}
.case{text-anchor:end}
.value{font-size:11px}
.page{fill:#fff}
.grid{stroke:#d1d9e0;fill:none}
.s0{fill:#767676}.s1{fill:#d98a00}.s2{fill:#4aa3df}.s3{fill:#00598c}.s4{fill:#b5568c}.s5{fill:#008060}
@media(prefers-color-scheme:dark){
text{fill:#f0f6fc}
.mute,.tick{fill:#9198a1}
.page{fill:#0d1117}
.grid{stroke:#3d444d}
.s0{fill:#a0a0a0}.s1{fill:#f0a830}.s2{fill:#56b4e9}.s3{fill:#2f81c7}.s4{fill:#cc79a7}.s5{fill:#30b090}
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest_value() {
        for (largest, expected) in
            [(605.0, 200.0), (27.7, 10.0), (101.4, 50.0), (20_798.0, 10_000.0), (0.0, 0.001)]
        {
            let step = step(largest);
            assert!(step * f64::from(STEPS) >= largest, "{largest}");
            assert!((step - expected).abs() < 1e-9, "{step} for {largest}");
        }
    }

    #[test]
    fn values_have_three_digits() {
        let shown = [0.0, 4.0, 9.256, 64.01, 605.4, 20_797.6].map(number);
        assert_eq!(shown, ["0", "4", "9.26", "64.0", "605", "20,798"]);
    }

    #[test]
    fn what_is_unknown_has_no_bar_and_text_stays_text() {
        let mut bars = Bars::new("a < b", "<unit>", ["one", "two"]);
        bars.add("case & case", [Some(1.0), None]);
        bars.add("nothing", [Some(f64::NAN), Some(-1.0), Some(3.0)]);
        let svg = bars.svg();
        assert_eq!(svg.matches("class=\"value\"").count(), 1, "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("case &amp; case"), "{svg}");
        assert!(!svg.contains("<unit>") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn however_much_is_added_the_file_is_small() {
        let mut bars = Bars::new("t", "u", ["a", "b", "c", "d", "e", "f", "g"]);
        for case in 0..1_000 {
            bars.add(&case.to_string(), [Some(123.456); 7]);
        }
        assert!(bars.svg().len() < 30_000, "{}", bars.svg().len());
    }
}
