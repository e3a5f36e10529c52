//! `ackwise schema [NAME]`: what the JSON of a command and an experiment file look like.

use ackwise_check::report::Document as Check;
use ackwise_explain::Document as Explain;
use ackwise_lab::{
    experiment::file_schema,
    run::export::{Document as Run, List},
};
use ackwise_load::{
    ComparisonDocument as Against, pages::PagesReport as Pages, report::Document as Load,
};
use ackwise_papers::{model::Document as Model, report::Document as Reproduce};
use ackwise_text::format::{Document, schema};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    error::Document as Error,
    outcome::{Failure, Outcome},
    output,
    serve::Document as Serve,
};

/// Print the JSON Schema of a command's --json output, or of experiment files
///
/// `experiment` describes experiment files, so that an editor can check them. All other formats are the output of commands.
/// Each JSON document begins with its format and version, such as {"format": {"name": "ackwise-check", "version": 1}, …}. Within a
/// version, keys may be added, but are never renamed or removed. Without NAME, lists all formats.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Schema {
    /// Print the schema of this format
    #[arg(value_parser = known(), value_name = "NAME")]
    name: Option<Known>,
}

/// A format and how to describe it.
pub(super) type Known = (&'static str, fn() -> String);

/// Prints one schema, or all names.
pub(crate) fn run(arguments: &Schema) -> Result<Outcome, Failure> {
    let text = match arguments.name {
        Some((_, schema)) => schema(),
        None => all().iter().map(|(name, _)| format!("{name}\n")).collect(),
    };
    output::print(&text, Outcome::Good)
}

/// All formats.
pub(super) fn all() -> Vec<Known> {
    vec![
        of::<Check<'_>>(),
        #[cfg(target_os = "linux")]
        of::<super::doctor::Document>(),
        of::<Error<'_>>(),
        ("experiment", file_schema),
        of::<Explain>(),
        of::<Load<'_>>(),
        of::<Against<'_>>(),
        of::<Pages>(),
        of::<Model>(),
        of::<Reproduce<'_>>(),
        #[cfg(target_os = "linux")]
        of::<ackwise_papers::on_kernel::report::Document<'_>>(),
        of::<Run<'_>>(),
        of::<List<'_>>(),
        of::<Serve>(),
        #[cfg(target_os = "linux")]
        of::<ackwise_tune::Line>(),
    ]
}

fn of<D: Document>() -> Known {
    (D::FORMAT.short_name(), schema::<D>)
}

fn known() -> impl TypedValueParser<Value = Known> {
    PossibleValuesParser::new(all().into_iter().map(|(name, _)| name)).map(|name| {
        let found = all().into_iter().find(|(known, _)| *known == name);
        found.expect("only names of formats are possible")
    })
}

const EXAMPLES: &str = "\
Examples:
  ackwise schema                  list all formats
  ackwise schema check            print the schema of `ackwise check --json`
  ackwise schema error            print the schema of the errors that --json prints

The same schemas are in docs/schema/.";
