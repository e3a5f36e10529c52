//! A file that is TOML, before it is read as an experiment.

use super::{
    Experiment,
    document::Item,
    error::ExperimentError,
    path::{set, show, vary},
};

/// What a file says. Options may replace it and add what it lacks: it is read after they are applied.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) name: String,
    pub(super) document: Item,
}

impl Draft {
    /// Reads TOML. `name` is the file's, for messages.
    ///
    /// ```
    /// use ackwise_lab::experiment::Draft;
    ///
    /// let text = r#"
    ///     host = { client = {}, server = {} }
    ///     link.wire = { ends = ["client", "server"] }
    ///     application.copy = { kind = "bulk", client = "client", server = "server" }
    /// "#;
    /// let draft = Draft::parse("copy.toml", text)?;
    /// assert!(draft.clone().experiment([], &[]).is_err(), "it says no duration");
    /// assert_eq!(draft.experiment(["duration=1 s"], &[])?.cases().len(), 1);
    /// # Ok::<(), ackwise_lab::experiment::ExperimentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is not TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        Ok(Self { name: name.to_owned(), document: Item::parse(name, text)? })
    }

    /// Adds an axis to the grid: values to try, as a list in TOML. An axis that varies the same key is replaced.
    ///
    /// # Errors
    ///
    /// What is not TOML, a key that cannot be varied, and one that the grid varies in part or together with others.
    pub fn with_axis(mut self, key: &str, values: &str) -> Result<Self, ExperimentError> {
        vary(&mut self.document, key, values)?;
        Ok(self)
    }

    /// Reads the experiment, after the values of `settings` (`path=value`) are set in order. Tables show
    /// the measures `shown`, if there are any.
    ///
    /// # Errors
    ///
    /// A setting without `=`, a path that leads nowhere or that the grid varies; then the first thing that
    /// is wrong, in any of the cases, or a measure that no case has.
    pub fn experiment<'a>(
        mut self,
        settings: impl IntoIterator<Item = &'a str>,
        shown: &[String],
    ) -> Result<Experiment, ExperimentError> {
        for setting in settings {
            set(&mut self.document, setting)?;
        }
        if !shown.is_empty() {
            show(&mut self.document, shown);
        }
        Experiment::read(self)
    }
}
