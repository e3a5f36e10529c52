//! What the fuzz targets do: the targets themselves are thin.

// Of endpoints.
pub mod checked;
pub mod operation;
pub mod pair;
pub mod single;

// Of captures.
pub mod analysed;
pub mod fields;
pub mod layers;
pub mod piece;
pub mod sealer;
pub mod told;
pub mod traffic;
