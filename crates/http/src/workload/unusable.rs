//! Why a distribution cannot be drawn from.

use thiserror::Error;

/// Why a distribution cannot be drawn from: whoever wrote it down is at fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Unusable {
    /// A parameter that has to be a finite number above zero is not.
    #[error("`{0}` must be a finite number above 0")]
    NotPositive(&'static str),
    /// A parameter that has to be a finite number is not.
    #[error("`{0}` must be a finite number")]
    NotFinite(&'static str),
    /// The lower end is above the upper end.
    #[error("`{lower}` must not be above `{upper}`")]
    Order {
        /// The parameter that is the lower end.
        lower: &'static str,
        /// The parameter that is the upper end.
        upper: &'static str,
    },
    /// A parameter is above the most that can be drawn.
    #[error("`{0}` is above the most that a run can use")]
    TooLarge(&'static str),
    /// A mixture has no parts, or none with a weight.
    #[error("the weights must have a sum above 0")]
    Weights,
    /// A mixture of mixtures of mixtures.
    #[error("mixtures are nested too deeply")]
    Nested,
}

/// `value` is a finite number above zero.
pub(super) fn positive(name: &'static str, value: f64) -> Result<(), Unusable> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(Unusable::NotPositive(name)) }
}

/// `value` is a finite number.
pub(super) fn finite(name: &'static str, value: f64) -> Result<(), Unusable> {
    if value.is_finite() { Ok(()) } else { Err(Unusable::NotFinite(name)) }
}

/// `lower` is not above `upper`; both come with their names.
pub(super) fn ordered<T: PartialOrd>(
    lower: (&'static str, T),
    upper: (&'static str, T),
) -> Result<(), Unusable> {
    if lower.1 <= upper.1 {
        Ok(())
    } else {
        Err(Unusable::Order { lower: lower.0, upper: upper.0 })
    }
}

/// `value` is not above `most`.
pub(super) fn at_most<T: PartialOrd>(
    name: &'static str,
    value: T,
    most: T,
) -> Result<(), Unusable> {
    if value <= most { Ok(()) } else { Err(Unusable::TooLarge(name)) }
}
