//! Experiment files that are part of the program.

/// A file of `experiments/`, as part of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// Its name.
    pub(crate) name: &'static str,
    /// What is in it.
    pub(crate) text: &'static str,
}

/// A [`File`] of `experiments/` by its name.
macro_rules! experiment_file {
    ($name:literal) => {
        $crate::file::File {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/", $name)),
        }
    };
}
pub(crate) use experiment_file;
