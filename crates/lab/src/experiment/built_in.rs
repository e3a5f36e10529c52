//! Experiments that come with the program, so that there is something to run at once.

/// Their names, and their files.
const BUILT_IN: &[(&str, &str)] = &[
    ("arrivals", include_str!("../../experiments/arrivals.toml")),
    ("dumbbell", include_str!("../../experiments/dumbbell.toml")),
    ("idle_restart", include_str!("../../experiments/idle_restart.toml")),
    ("million", include_str!("../../experiments/million.toml")),
    ("stalls", include_str!("../../experiments/stalls.toml")),
];

/// The text of a built-in experiment.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all built-in experiments.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}
