//! Experiment files that are part of the program.

/// A file of `experiments/`, as part of the program.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// A [`File`] of `experiments/` by its name.
#[macro_export]
#[doc(hidden)]
macro_rules! experiment_file {
    ($name:literal) => {
        $crate::reproduce::file::File {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/", $name)),
        }
    };
}
