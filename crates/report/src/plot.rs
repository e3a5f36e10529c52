//! Lines over an axis.

use serde::Serialize;

/// A plot of lines, points or steps over one axis.
///
/// ```
/// use ackwise_report::{Line, Plot, Style};
///
/// let mut plot = Plot::new("Rate by load", ["clients", "connections a second"]);
/// plot.lines.push(Line::new("ours", [[1.0, 50.0], [2.0, 61.0]]).hued(0));
/// plot.lines.push(Line::new("published", [[1.0, 49.0]]).styled(Style::Points).hued(0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What goes to the right, with its unit.
    pub x: String,
    /// What goes up, with its unit.
    pub y: String,
    /// What is drawn; beyond [`Plot::MAX_LINES`] nothing is.
    pub lines: Vec<Line>,
}

/// One of a plot's lines.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Lines of one hue have one colour; as many hues are told apart as a plot has lines.
    pub hue: usize,
    /// From left to right. What is not finite is a gap.
    pub points: Vec<[f64; 2]>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Style {
    /// From point to point.
    #[default]
    Line,
    /// At each point a ring.
    Points,
    /// Each value holds until the next.
    Steps,
}

impl Plot {
    /// More lines than these nobody tells apart. Ours.
    pub const MAX_LINES: usize = 24;

    /// More points than a screen has columns are not seen; a longer line is thinned out. Ours.
    pub const MAX_POINTS: usize = 4_096;

    /// A plot without lines.
    #[must_use]
    pub fn new(title: impl Into<String>, [x, y]: [&str; 2]) -> Self {
        Self { title: title.into(), x: x.to_owned(), y: y.to_owned(), lines: Vec::new() }
    }

    /// As the page reads it, no longer than it may be.
    pub(crate) fn drawn(&self) -> Drawn<'_> {
        let Self { title, x, y, lines } = self;
        let all: usize = lines.iter().map(|line| line.points.len()).sum();
        let left_out = lines.len().saturating_sub(Self::MAX_LINES);
        let lines: Vec<_> = lines.iter().take(Self::MAX_LINES).map(Line::thinned).collect();
        let points: usize = lines.iter().map(|line| line.points.len()).sum();
        Drawn { title, x, y, lines, left_out: [left_out, all - points] }
    }
}

/// A plot of bounded size.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    lines: Vec<Line>,
    /// Lines, and points of all lines.
    left_out: [usize; 2],
}

impl Line {
    /// A line from point to point.
    #[must_use]
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        let points = points.into_iter().collect();
        Self { name: name.into(), style: Style::Line, hue: 0, points }
    }

    /// The same, drawn otherwise.
    #[must_use]
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// The same in another colour.
    #[must_use]
    pub fn hued(self, hue: usize) -> Self {
        Self { hue, ..self }
    }

    /// Of each stretch of a line that is too long, the lowest and the highest point: peaks stay.
    fn thinned(&self) -> Self {
        if self.points.len() <= Plot::MAX_POINTS {
            return self.clone();
        }
        let stretch = self.points.len().div_ceil(Plot::MAX_POINTS / 2);
        let points = self.points.chunks(stretch).flat_map(extremes).collect();
        Self { name: self.name.clone(), points, ..*self }
    }
}

/// The lowest and the highest point, in their order; a gap is the highest.
fn extremes(points: &[[f64; 2]]) -> impl Iterator<Item = [f64; 2]> {
    let by_height = |a: &usize, b: &usize| points[*a][1].total_cmp(&points[*b][1]);
    let lowest = (0..points.len()).min_by(by_height);
    let highest = (0..points.len()).max_by(by_height);
    let mut ends: Vec<_> = lowest.into_iter().chain(highest).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.into_iter().map(|place| points[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_thinned_out_and_keeps_its_peak() {
        let mut points: Vec<_> = (0..100_000).map(|at| [f64::from(at), 1.0]).collect();
        points[77_777][1] = 9.0;
        let mut plot = Plot::new("long", ["x", "y"]);
        plot.lines = vec![Line::new("line", points); Plot::MAX_LINES + 3];
        let drawn = plot.drawn();
        let line = &drawn.lines[0];
        assert!(line.points.len() <= Plot::MAX_POINTS, "{}", line.points.len());
        assert!(line.points.contains(&[77_777.0, 9.0]));
        assert!(line.points.is_sorted_by(|a, b| a[0] < b[0]));
        assert_eq!(drawn.lines.len(), Plot::MAX_LINES);
        assert_eq!(drawn.left_out[0], 3);
    }
}
