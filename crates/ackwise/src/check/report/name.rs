//! One vocabulary for all formats: what JSON calls a finding is what people read and type.

use std::fmt;

use serde::Serialize;

/// Shows a unit variant ([`Verdict`](crate::check::card::Verdict),
/// [`StackName`](crate::check::card::StackName)) by the name that it has in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Name<T>(pub T);

impl<T: Serialize> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // serde's serializer for `Formatter` writes the names of unit variants and honours padding.
        self.0.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::card::{StackName, Verdict};

    #[test]
    fn names_are_those_of_json() {
        assert_eq!(Name(StackName::Ackwise).to_string(), "ackwise");
        assert_eq!(format!("[{:7}]", Name(Verdict::Warn)), "[warn   ]");
    }
}
