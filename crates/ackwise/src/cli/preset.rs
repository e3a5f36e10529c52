//! The presets of our TCP as an argument.

use ackwise_tcp::policy::Preset;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads the name of a preset; help and errors list the names.
pub(super) fn parser() -> impl TypedValueParser<Value = Preset> {
    let names = PossibleValuesParser::new(Preset::ALL.map(Preset::name));
    names.map(|name| Preset::named(&name).expect("the names are those of the presets"))
}
