//! Why a distribution cannot be drawn from.

use thiserror::Error;

/// Why a distribution cannot be drawn from. The author of the parameters is at fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Unusable {
    /// A parameter is not a finite number above zero.
    #[error("`{0}` must be a finite number above 0")]
    NotPositive(&'static str),
    /// A parameter is not a finite number.
    #[error("`{0}` must be a finite number")]
    NotFinite(&'static str),
    /// The lower end is above the upper end.
    #[error("`{lower}` must not be above `{upper}`")]
    Order {
        /// Name of the lower end's parameter.
        lower: &'static str,
        /// Name of the upper end's parameter.
        upper: &'static str,
    },
    /// A parameter is above the maximum of a draw.
    #[error("`{0}` is above the most that a run can use")]
    TooLarge(&'static str),
    /// A mixture has no parts, or all weights are zero.
    #[error("the weights must have a sum above 0")]
    Weights,
    /// A mixture is nested too deeply.
    #[error("mixtures are nested too deeply")]
    Nested,
}

/// Checks that `value` is a finite number above zero.
pub(super) fn positive(name: &'static str, value: f64) -> Result<(), Unusable> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(Unusable::NotPositive(name)) }
}

/// Checks that `value` is a finite number.
pub(super) fn finite(name: &'static str, value: f64) -> Result<(), Unusable> {
    if value.is_finite() { Ok(()) } else { Err(Unusable::NotFinite(name)) }
}

/// Checks that `lower` is not above `upper`; both come with their names.
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

/// Checks that `value` is not above `most`.
pub(super) fn at_most<T: PartialOrd>(
    name: &'static str,
    value: T,
    most: T,
) -> Result<(), Unusable> {
    if value <= most { Ok(()) } else { Err(Unusable::TooLarge(name)) }
}
