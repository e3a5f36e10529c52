//! A page: the verdict, the figures, each table beside ours, each claim.

use ackwise_report::{self, Block, Cell, Grade, Page};

use super::{
    Reproduction, conclusion,
    layout::{Entry, Grid, LEGEND, number},
};
use crate::{
    ReproduceError,
    claim::{Claim, Holds},
    figure::Figure,
    figures,
    paper::PaperResults,
    table::{ComparisonTable, Row},
};

/// The whole page: the verdict, the figures, each table beside ours, each claim.
///
/// ```no_run
/// use ackwise_papers::{Effort, paper::Paper, report::html, reproduce};
///
/// let faber = reproduce(&[Paper::Faber], Effort::Quick, &mut |_| {})?;
/// std::fs::write("faber.html", html(&faber, &mut |_| {})?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `progress` hears of each paper's figures before they are drawn: some are runs of
/// their own.
///
/// # Errors
///
/// If an experiment file or a run of a figure fails.
pub fn html(
    reproduction: &Reproduction,
    progress: &mut dyn FnMut(&str),
) -> Result<String, ReproduceError> {
    let names = reproduction.papers.iter().map(|results| results.paper.name());
    let mut page = Page::new(format!("ackwise reproduce {}", names.collect::<Vec<_>>().join(" ")));
    page.add_lead(reproduction.verdict());
    for results in reproduction.papers.iter().filter(|results| !results.claims.is_empty()) {
        let authors = results.paper.authors();
        page.add_lead(format!("{authors}: {}", conclusion(results)));
    }
    page.add_contents();
    for results in &reproduction.papers {
        progress(&format!("{}: figures", results.paper.name()));
        add(&mut page, results, figures(results)?);
    }
    Ok(page.render())
}

fn add(page: &mut Page, results: &PaperResults, figures: Vec<Figure>) {
    let PaperResults { paper, tables, claims } = results;
    let authors = paper.authors();
    let said = if claims.is_empty() { NO_CLAIMS.to_owned() } else { conclusion(results) };
    page.add_section(authors, [Block::Text(paper.title().to_owned()), Block::Text(said)]);
    let figures = figures
        .into_iter()
        .flat_map(|Figure { title, blocks }| std::iter::once(Block::Heading(title)).chain(blocks));
    page.add_section(format!("{authors}: figures"), figures);
    let legend = Block::Text(format!("{LEGEND}. {COLOURS}"));
    let tables = tables.iter().flat_map(blocks);
    page.add_section(format!("{authors}: tables"), std::iter::once(legend).chain(tables));
    if !claims.is_empty() {
        page.add_section(format!("{authors}: claims"), [Block::Table(claims_table(claims))]);
    }
}

fn blocks(table: &ComparisonTable) -> Vec<Block> {
    let Grid { header, lines, keys } = Grid::of(table);
    let mut shown = ackwise_report::HtmlTable::new(&table.title, header);
    for line in lines {
        let cells = line.into_iter().enumerate();
        shown.add(cells.map(|(column, entry)| match column < keys {
            true => Cell::text(entry.text),
            false => cell(entry),
        }));
    }
    let mut blocks = vec![Block::Heading(table.id.clone()), Block::Table(shown)];
    if !table.notes.is_empty() {
        blocks.push(Block::Notes(table.notes.clone()));
    }
    blocks
}

fn cell(Entry { text, row }: Entry) -> Cell {
    let limit = row.and_then(|row| row.limit).map(|limit| format!("; tolerance {limit}"));
    let text = text + &limit.unwrap_or_default();
    match row.and_then(verdict) {
        Some(verdict) => Cell::Judged(text, verdict),
        None => Cell::number(text),
    }
}

/// By the limit if there is one, else by the size of the error.
fn verdict(row: &Row) -> Option<Grade> {
    if let Some(within) = row.is_within() {
        return Some(if within { Grade::Good } else { Grade::Bad });
    }
    Some(match row.error()?.abs() {
        error if error <= NEAR => Grade::Good,
        error if error <= FAR => Grade::Fair,
        _ => Grade::Bad,
    })
}

fn claims_table(claims: &[Claim]) -> ackwise_report::HtmlTable {
    let columns = ["claim", "holds", "numbers", "how it was tested, or why not"];
    let mut table = ackwise_report::HtmlTable::new("Claims of the paper", columns);
    for claim in claims {
        let Claim { id, place, text, numbers, .. } = claim;
        let holds = claim.holds();
        let numbers = numbers.iter().map(|(name, value)| format!("{name} {}", number(*value)));
        table.add([
            Cell::prose(format!("“{text}” ({place}; {id})")),
            match holds {
                Holds::Yes => Cell::Judged(holds.as_str().to_owned(), Grade::Good),
                Holds::BySumOnly | Holds::ByMeanOnly => {
                    Cell::Judged(holds.as_str().to_owned(), Grade::Fair)
                }
                Holds::No => Cell::Judged(holds.as_str().to_owned(), Grade::Bad),
                Holds::NotTestable => Cell::text(holds.as_str()),
            },
            Cell::prose(numbers.collect::<Vec<_>>().join("; ")),
            Cell::prose(claim.how()),
        ]);
    }
    table
}

/// Shares of a published value. Ours: they only choose a colour.
const NEAR: f64 = 0.05;
const FAR: f64 = 0.20;

const COLOURS: &str = "Green is within the tolerance, red (and !) outside. Without a tolerance, green is \
                       an error of up to 5 %, yellow up to 20 %, red above.";

const NO_CLAIMS: &str = "Only a full run tests the claims.";
