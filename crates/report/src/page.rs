//! The page from the first line to the last.

use std::fmt::Write as _;

use crate::{HtmlTable, Plot, Timeline, bundle, markup::data_element};
use ackwise_text::escape::Html;

/// A report as a page.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    preface: Option<String>,
    lead: Vec<String>,
    contents: bool,
    sections: Vec<Section>,
}

#[derive(Clone, Debug)]
struct Section {
    title: String,
    blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Block {
    /// A heading below that of the section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Remarks, one below the other.
    Notes(Vec<String>),
    /// Figures in rows.
    Table(HtmlTable),
    /// Lines over an axis.
    Plot(Plot),
    /// Exchanges and packets over time.
    Timeline(Box<Timeline>),
}

impl Page {
    /// A page without anything but its title.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            preface: None,
            lead: Vec::new(),
            contents: false,
            sections: Vec::new(),
        }
    }

    /// Sets the line below the title, in normal letters.
    pub fn set_preface(&mut self, line: impl Into<String>) {
        self.preface = Some(line.into());
    }

    /// Adds to what is said first, in large letters.
    pub fn add_lead(&mut self, sentence: impl Into<String>) {
        self.lead.push(sentence.into());
    }

    /// Begins with a list of the sections, for a page of many.
    pub fn add_contents(&mut self) {
        self.contents = true;
    }

    /// Adds a section.
    pub fn add_section(
        &mut self,
        title: impl Into<String>,
        blocks: impl IntoIterator<Item = Block>,
    ) {
        let (title, blocks) = (title.into(), blocks.into_iter().collect());
        self.sections.push(Section { title, blocks });
    }

    /// The page as HTML, complete in itself.
    #[must_use]
    pub fn render(&self) -> String {
        let scripts = bundle::scripts();
        let mut out = self.head(&scripts);
        self.body(&mut out);
        for script in scripts {
            let _ = writeln!(out, "<script>{script}</script>");
        }
        out + "</body>\n</html>\n"
    }

    fn head(&self, scripts: &[String]) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n",
            Html(&bundle::policy(scripts)),
            Html(&self.title),
        );
        for style in bundle::STYLES {
            let _ = writeln!(out, "<style>{style}</style>");
        }
        out + "</head>\n"
    }

    fn body(&self, out: &mut String) {
        let _ = writeln!(out, "<body>\n<header>\n<h1>{}</h1>", Html(&self.title));
        if let Some(preface) = &self.preface {
            let _ = writeln!(out, "<p>{}</p>", Html(preface));
        }
        for sentence in &self.lead {
            let _ = writeln!(out, "<p class=\"lead\">{}</p>", Html(sentence));
        }
        out.push_str(NO_SCRIPT);
        if self.contents {
            out.push_str(&self.contents());
        }
        out.push_str("</header>\n<main>\n");
        let mut number = 0;
        for (place, Section { title, blocks }) in self.sections.iter().enumerate() {
            let _ = writeln!(out, "<section id=\"section-{place}\">\n<h2>{}</h2>", Html(title));
            for block in blocks {
                number += 1;
                block.render(&format!("block-{number}"), out);
            }
            out.push_str("</section>\n");
        }
        out.push_str("</main>\n");
    }

    fn contents(&self) -> String {
        let mut out = "<nav aria-label=\"Contents\">\n<ul>\n".to_owned();
        for (place, Section { title, .. }) in self.sections.iter().enumerate() {
            let _ = writeln!(out, "<li><a href=\"#section-{place}\">{}</a></li>", Html(title));
        }
        out + "</ul>\n</nav>\n"
    }
}

impl Block {
    fn render(&self, id: &str, out: &mut String) {
        match self {
            Self::Heading(text) => {
                let _ = writeln!(out, "<h3>{}</h3>", Html(text));
            }
            Self::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", Html(text));
            }
            Self::Notes(notes) => out.push_str(&list(notes)),
            Self::Table(table) => out.push_str(&table.render()),
            Self::Plot(plot) => {
                out.push_str(&drawn("plot", id, &plot.title));
                data_element(id, &plot.drawn(), out);
            }
            Self::Timeline(timeline) => {
                out.push_str(&drawn("timeline", id, "Exchanges and packets over time"));
                data_element(id, &timeline.pack(), out);
            }
        }
    }
}

const NO_SCRIPT: &str =
    "<noscript><p>Only the plots on this page need JavaScript.</p></noscript>\n";

fn list(notes: &[String]) -> String {
    let items = notes.iter().map(|note| format!("<li>{}</li>\n", Html(note)));
    format!("<ul class=\"notes\">\n{}</ul>\n", items.collect::<String>())
}

/// Where a script draws the data of the element `id`.
fn drawn(kind: &str, id: &str, title: &str) -> String {
    let title = Html(title);
    format!(
        "<div class=\"{kind}\" data-draw=\"{kind}\" data-from=\"{id}\" role=\"group\" \
         aria-label=\"{title}\"></div>\n"
    )
}
