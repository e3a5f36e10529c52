//! (map of the crate: to be written)
