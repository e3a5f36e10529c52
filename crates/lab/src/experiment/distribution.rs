//! How long, how large, how many: a value that is always the same, or a distribution.

use std::{borrow::Cow, time::Duration};

use ackwise_http::workload::{Count, Size, Span, Truncation, Unusable, Weighted};
use ackwise_tcp::ByteCount;

use super::{
    document::Value,
    error::ExperimentError,
    quantity::Quantity,
    reader::{Field, Reader, words},
};

/// `"1 s"`, or a distribution of durations.
pub(crate) fn span(field: Field<'_>) -> Result<Span, ExperimentError> {
    let span = if let Value::Text(_) = field.item.value {
        Span::Fixed(field.quantity()?)
    } else {
        let (name, variant) = field.variant(SPANS)?;
        let mut reader = variant.table("a table of its parameters")?;
        let span = span_of(name, &mut reader)?;
        reader.finish()?;
        span
    };
    usable(&field, span.check()).map(|()| span)
}

fn span_of(name: &str, reader: &mut Reader<'_>) -> Result<Span, ExperimentError> {
    let duration = |reader: &mut Reader<'_>, key| {
        reader.required(key, Duration::EXPECTED)?.quantity::<Duration>()
    };
    Ok(match name {
        "uniform" => Span::Uniform { from: duration(reader, "from")?, to: duration(reader, "to")? },
        "exponential" => Span::Exponential { mean: duration(reader, "mean")? },
        "pareto" => Span::Pareto {
            least: duration(reader, "least")?,
            shape: parameter(reader, "shape")?,
            most: duration(reader, "most")?,
            truncation: truncation(reader)?,
        },
        _ => {
            Span::Weibull { scale: duration(reader, "scale")?, shape: parameter(reader, "shape")? }
        }
    })
}

/// `"12 KB"`, or a distribution of sizes.
pub(crate) fn size(field: Field<'_>) -> Result<Size, ExperimentError> {
    let size = if let Value::Text(_) = field.item.value {
        Size::Fixed(field.quantity()?)
    } else {
        match field.variant(SIZES)? {
            ("mixture", variant) => mixture(&variant.value("a list of { weight, size }")?)?,
            (name, variant) => {
                let mut reader = variant.table("a table of its parameters")?;
                let size = size_of(name, &mut reader)?;
                reader.finish()?;
                size
            }
        }
    };
    usable(&field, size.check()).map(|()| size)
}

fn size_of(name: &str, reader: &mut Reader<'_>) -> Result<Size, ExperimentError> {
    let bytes = |reader: &mut Reader<'_>, key| {
        reader.required(key, ByteCount::EXPECTED)?.quantity::<ByteCount>()
    };
    Ok(match name {
        "uniform" => Size::Uniform { from: bytes(reader, "from")?, to: bytes(reader, "to")? },
        "pareto" => Size::Pareto {
            least: bytes(reader, "least")?,
            shape: parameter(reader, "shape")?,
            most: bytes(reader, "most")?,
            truncation: truncation(reader)?,
        },
        _ => Size::LogNormal {
            mu: parameter(reader, "mu")?,
            sigma: parameter(reader, "sigma")?,
            most: bytes(reader, "most")?,
            truncation: truncation(reader)?,
        },
    })
}

fn mixture(field: &Field<'_>) -> Result<Size, ExperimentError> {
    let part = |part: &Field<'_>| {
        let mut reader = part.table("{ weight, size }")?;
        let weight = reader.required("weight", "how often, in proportion")?;
        let weight = weight.integer(0..=u32::MAX)?;
        let size = size(reader.required("size", ByteCount::EXPECTED)?)?;
        reader.finish()?;
        Ok(Weighted { weight, size })
    };
    let parts = field.list("a list of { weight, size }")?;
    let parts = parts.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Size::Mixture(Cow::Owned(parts)))
}

/// `3`, or a distribution of numbers.
pub(crate) fn count(field: Field<'_>) -> Result<Count, ExperimentError> {
    let count = if let Value::Integer(_) = field.item.value {
        Count::Fixed(field.integer(0..=Count::MOST)?)
    } else {
        let (name, variant) = field.variant(COUNTS)?;
        let mut reader = variant.table("a table of its parameters")?;
        let mut number =
            |key| reader.required(key, "an integer").and_then(|f| f.integer(0..=Count::MOST));
        let count = match name {
            "uniform" => Count::Uniform { from: number("from")?, to: number("to")? },
            _ => Count::Pareto {
                least: number("least")?,
                most: number("most")?,
                shape: parameter(&mut reader, "shape")?,
                off: reader.or_with("off", 0, |field| field.integer(0..=Count::MOST))?,
            },
        };
        reader.finish()?;
        count
    };
    usable(&field, count.check()).map(|()| count)
}

fn parameter(reader: &mut Reader<'_>, key: &'static str) -> Result<f64, ExperimentError> {
    reader.required(key, "a number")?.number(-1e6..=1e6)
}

fn truncation(reader: &mut Reader<'_>) -> Result<Truncation, ExperimentError> {
    reader.required("truncation", "\"clip\" or \"conditional\"")?.read()
}

/// What only the distribution itself can tell: "`least` must not be above `most`".
pub(crate) fn usable(
    field: &Field<'_>,
    check: Result<(), Unusable>,
) -> Result<(), ExperimentError> {
    check.map_err(|unusable| field.contradiction(unusable.to_string()))
}

const SPANS: &[&str] = &["uniform", "exponential", "pareto", "weibull"];

const SIZES: &[&str] = &["uniform", "pareto", "log-normal", "mixture"];

const COUNTS: &[&str] = &["uniform", "pareto"];

words! {
    Truncation { "clip" => Clip, "conditional" => Conditional }
}
