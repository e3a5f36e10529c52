//! One vocabulary for all formats: what JSON calls a finding is what people read and type.

use std::fmt;

use serde::Serialize;

/// Shows a unit variant by the name that it has in JSON.
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

    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Weight {
        NotHeavy,
        Heavy,
    }

    #[test]
    fn names_are_those_of_json() {
        assert_eq!(Name(Weight::NotHeavy).to_string(), "not-heavy");
        assert_eq!(format!("[{:7}]", Name(Weight::Heavy)), "[heavy  ]");
    }
}
