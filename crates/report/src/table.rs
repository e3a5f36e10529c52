//! Figures in rows, with bars.

use std::fmt::Write as _;

use ackwise_cause::Cause;

use ackwise_text::escape::Html;

/// A table; the first row says what the columns are.
#[derive(Clone, Debug)]
pub struct HtmlTable {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// What stands in a row and column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cell {
    /// Text, from the left.
    Text(String),
    /// Sentences: they wrap.
    Prose(String),
    /// Lines of code or of a listing, letter under letter.
    Code(String),
    /// A figure, from the right.
    Number(String),
    /// A cause, with its colour.
    Cause(Cause),
    /// A share from 0 to 1 as a bar, in the colour of a cause, and in percent.
    Share(f64, Cause),
    /// A word or a figure that is as it should be, or is not. What it says says so, too: colours
    /// are never alone.
    Judged(String, Grade),
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Grade {
    /// It is.
    Good,
    /// It nearly is, or in part.
    Fair,
    /// It is not.
    Bad,
}

impl Grade {
    const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
        }
    }
}

impl Cell {
    /// Text, from the left.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Sentences: they wrap.
    #[must_use]
    pub fn prose(text: impl Into<String>) -> Self {
        Self::Prose(text.into())
    }

    /// A figure, from the right.
    #[must_use]
    pub fn number(figure: impl Into<String>) -> Self {
        Self::Number(figure.into())
    }

    fn render(&self) -> String {
        match self {
            Self::Text(text) => format!("<td>{}</td>", Html(text)),
            Self::Prose(text) => format!("<td class=\"prose\">{}</td>", Html(text)),
            Self::Code(text) => format!("<td class=\"code\">{}</td>", Html(text)),
            Self::Judged(text, verdict) => {
                format!("<td class=\"{}\">{}</td>", verdict.name(), Html(text))
            }
            Self::Number(figure) => format!("<td class=\"number\">{}</td>", Html(figure)),
            Self::Cause(cause) => format!("<th scope=\"row\">{} {cause}</th>", bar(1.0, *cause, 1)),
            Self::Share(share, cause) => {
                let percent = share.clamp(0.0, 1.0) * 100.0;
                let bar = bar(percent / 100.0, *cause, 10);
                format!("<td class=\"share\">{bar} <span>{percent:.1} %</span></td>")
            }
        }
    }
}

/// A bar of SVG: it needs no inline style, which the page's policy forbids, and is printed.
fn bar(share: f64, cause: Cause, width: u32) -> String {
    let filled = share * f64::from(width);
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 {width} 1\" preserveAspectRatio=\"none\" \
         data-width=\"{width}\" aria-hidden=\"true\">\
         <rect class=\"cause-{cause}\" width=\"{filled:.4}\" height=\"1\"/></svg>"
    )
}

impl HtmlTable {
    /// A table without rows.
    #[must_use]
    pub fn new<C: Into<String>>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, row: impl IntoIterator<Item = Cell>) {
        self.rows.push(row.into_iter().collect());
    }

    pub(crate) fn render(&self) -> String {
        let caption = Html(&self.caption);
        // A wide table scrolls by itself, also by keyboard; the page does not.
        let mut out = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n\
             <table>\n<caption>{caption}</caption>\n<thead><tr>"
        );
        for column in &self.columns {
            let _ = write!(out, "<th scope=\"col\">{}</th>", Html(column));
        }
        out += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            let cells: String = row.iter().map(Cell::render).collect();
            let _ = writeln!(out, "<tr>{cells}</tr>");
        }
        out + "</tbody>\n</table>\n</div>\n"
    }
}
