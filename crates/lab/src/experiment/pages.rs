//! `workload`: what a page consists of. A published one by name, files of fixed lengths, or
//! distributions.

use std::borrow::Cow;

use ackwise_http::{
    page::Page,
    workload::{Pages, Size},
};
use ackwise_link::Probability;
use ackwise_sim::scenario::Replay;
use ackwise_tcp::ByteCount;

use super::{
    distribution::{count, size, usable},
    document::Value,
    error::ExperimentError,
    quantity::Quantity,
    reader::{Field, Reader},
};

/// Reads the name of a published workload, or a table.
pub(crate) fn pages(field: Field<'_>) -> Result<Pages, ExperimentError> {
    let pages = if let Value::Text(name) = &field.item.value {
        published(&field, name)?
    } else {
        let mut reader = field.table("the name of a workload, or { primary, inline, inlines }")?;
        let pages = own(&mut reader)?;
        reader.finish()?;
        pages
    };
    usable(&field, pages.check()).map(|()| pages)
}

fn published(field: &Field<'_>, name: &str) -> Result<Pages, ExperimentError> {
    let unknown = || field.unknown("workload", name, Pages::published_names());
    Pages::published(name).ok_or_else(unknown)
}

/// The thesis' pages, whose tables differ in two parameters.
fn gurkan(field: &Field<'_>) -> Result<Pages, ExperimentError> {
    let mut reader = field.table("{ inline_shape, small_files }")?;
    let shape = reader.required("inline_shape", "a number such as 1.24")?.number(0.0..=100.0)?;
    let share = reader.required("small_files", Probability::EXPECTED)?.quantity()?;
    reader.finish()?;
    Ok(Pages::gurkan(shape, share))
}

/// `inlines` is a list of lengths, or says how many there are of those that `inline` draws.
fn own(reader: &mut Reader<'_>) -> Result<Pages, ExperimentError> {
    if let Some(field) = reader.optional("gurkan") {
        return gurkan(&field);
    }
    let primary = size(reader.required("primary", ByteCount::EXPECTED)?)?;
    let inlines = reader.required("inlines", "a list of sizes, or how many there are")?;
    let Value::List(_) = inlines.item.value else {
        let inline = size(reader.required("inline", ByteCount::EXPECTED)?)?;
        return Ok(Pages::Drawn { primary, inline, inlines: count(inlines)? });
    };
    let Size::Fixed(ByteCount(primary)) = primary else {
        let what = "a list of inlines needs a fixed size of the primary, not a distribution";
        return Err(inlines.contradiction(what));
    };
    let sizes = inlines.list("a list of sizes")?;
    let sizes = sizes.iter().map(|size| size.quantity::<ByteCount>().map(|size| size.0));
    Ok(Pages::Fixed { primary, inlines: Cow::Owned(sizes.collect::<Result<_, _>>()?) })
}

/// Lists of pages and of think times; neither may be empty.
pub(crate) fn replay(field: Field<'_>) -> Result<Replay, ExperimentError> {
    let mut reader = field.table("{ pages, think }")?;
    let pages = reader.required("pages", "a list of pages such as [\"6651 B\", \"3883 B\"]")?;
    let think = reader.required("think", "a list of durations")?;
    let replay = Replay {
        pages: not_empty(&pages, "a list of pages")?.iter().map(page).collect::<Result<_, _>>()?,
        think: not_empty(&think, "a list of durations")?
            .iter()
            .map(|span| span.quantity())
            .collect::<Result<_, _>>()?,
    };
    reader.finish()?;
    Ok(replay)
}

/// The primary file and its inlines.
fn page(field: &Field<'_>) -> Result<Page, ExperimentError> {
    let fits = |size: &ByteCount| size.0 <= Size::LARGEST.0;
    let sizes = not_empty(field, "a list of sizes, the primary first")?;
    let sizes = sizes.iter().map(|size| size.quantity_in(&fits, "at most 1 TiB").map(|it| it.0));
    let mut sizes = sizes.collect::<Result<Vec<_>, _>>()?;
    let primary = sizes.remove(0);
    Ok(Page { primary, inlines: sizes })
}

fn not_empty<'a>(
    field: &Field<'a>,
    expected: &'static str,
) -> Result<Vec<Field<'a>>, ExperimentError> {
    let list = field.list(expected)?;
    if list.is_empty() {
        return Err(field.contradiction(format!("found an empty list (expected {expected})")));
    }
    Ok(list)
}
