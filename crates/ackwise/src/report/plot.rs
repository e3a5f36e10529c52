//! Lines over an axis.

use serde::Serialize;

/// A plot of lines, points or steps over one axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What goes to the right, with its unit.
    pub x: String,
    /// What goes up, with its unit.
    pub y: String,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// One of a plot's lines.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
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
    /// At each point a dot.
    Points,
    /// Each value holds until the next.
    Steps,
}
