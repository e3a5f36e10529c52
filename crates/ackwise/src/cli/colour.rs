//! When to colour.

use anstream::ColorChoice;
use clap::ValueEnum;

/// `auto` asks the terminal, `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Colour {
    #[default]
    Auto,
    Always,
    Never,
}

impl Colour {
    /// Makes every later line of this process obey.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}
