//! What the fuzz target `endpoint_operations` does with endpoints: the targets themselves are thin.

pub mod checked;
pub mod operation;
pub mod pair;
pub mod single;
