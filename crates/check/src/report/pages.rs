//! The page times of the built-in servers, told apart by their documents.

use ackwise_text::words::{grouped, milliseconds};

use crate::{card::BuiltIn, page_times::PageTimes};

/// One set of documents, at both servers.
pub(super) struct Row<'a> {
    pub(super) documents: String,
    pub(super) paper_1996: &'a PageTimes,
    pub(super) fixed: &'a PageTimes,
}

impl Row<'_> {
    /// How many times as long the page takes at the 1996 server.
    pub(super) fn ratio(&self) -> f64 {
        self.paper_1996.median_ms / self.fixed.median_ms
    }

    /// The ratio as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "a ratio of two page times")]
    pub(super) fn rounded_ratio(&self) -> String {
        grouped(self.ratio().round() as u64)
    }
}

/// The sets that both servers served, in the order of the 1996 server's.
pub(super) fn rows<'a>(pages: &'a [PageTimes]) -> Vec<Row<'a>> {
    let of = |server| pages.iter().filter(move |page| page.server == server);
    let pair = |paper_1996: &'a PageTimes| {
        let fixed = of(BuiltIn::Fixed).find(|fixed| fixed.documents == paper_1996.documents)?;
        Some(Row { documents: documents(paper_1996), paper_1996, fixed })
    };
    of(BuiltIn::Paper1996).filter_map(pair).collect()
}

/// One sentence about the set that gains most.
pub(super) fn gain(pages: &[PageTimes]) -> Option<String> {
    let row = rows(pages).into_iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
    Some(format!(
        "A page of {} documents ({}) takes {} to load from the 1996 server and {} from the fixed one.",
        row.paper_1996.documents.len(),
        row.documents,
        milliseconds(row.paper_1996.median_ms),
        milliseconds(row.fixed.median_ms),
    ))
}

/// A median with the quartiles around it.
pub(super) fn median_and_quartiles(page: &PageTimes) -> String {
    let [low, high] = page.quartiles_ms.map(|quartile| milliseconds(quartile).replace(" ms", ""));
    format!("{} ({low}-{high})", milliseconds(page.median_ms))
}

fn documents(page: &PageTimes) -> String {
    let sizes: Vec<_> = page.documents.iter().map(|&bytes| grouped(u64::from(bytes))).collect();
    format!("{} B", sizes.join(" + "))
}
