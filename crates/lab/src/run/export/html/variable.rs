//! What goes to the right: the first label of a case that is a number wherever it stands.

use std::{collections::BTreeSet, time::Duration};

use ackwise_link::Rate;
use ackwise_tcp::ByteCount;
use ackwise_units::Probability;

use super::super::super::summary::Summary;
use crate::experiment::{
    CaseValue, Labels,
    quantity::{Packets, Quantity, Segments, parse},
};

/// A label whose values are numbers of one unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable<'a> {
    name: &'a str,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unit {
    None,
    Milliseconds,
    Megabits,
    Bytes,
    Packets,
    Segments,
    Percent,
}

impl<'a> Variable<'a> {
    /// The first of `labels` that has at least two values, all of them numbers of one unit.
    pub(super) fn first_of(labels: &[&'a str], summaries: &[Summary]) -> Option<Self> {
        labels.iter().find_map(|name| {
            let values = || summaries.iter().map(|summary| summary.case.get(name));
            let units: Option<Vec<_>> = values().map(|value| Some(read(value?)?.0)).collect();
            let unit = *units?.first()?;
            let is_one = values().flatten().all(|value| read(value).is_some_and(|it| it.0 == unit));
            let several = values().collect::<BTreeSet<_>>().len() > 1;
            (is_one && several).then_some(Self { name, unit })
        })
    }

    pub(super) const fn name(&self) -> &'a str {
        self.name
    }

    /// What stands at the axis.
    pub(super) fn axis(&self) -> String {
        match self.unit.name() {
            "" => self.name.to_owned(),
            unit => format!("{} ({unit})", self.name),
        }
    }

    pub(super) fn value(&self, summary: &Summary) -> Option<f64> {
        read(summary.case.get(self.name)?).map(|(_, value)| value)
    }

    /// The other labels of a case, in words.
    pub(super) fn others(&self, summary: &Summary) -> String {
        let mut others = Labels::default();
        for (name, value) in summary.case.iter().filter(|(name, _)| *name != self.name) {
            others.push(name.to_owned(), value.clone());
        }
        others.to_string()
    }
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Milliseconds => "ms",
            Self::Megabits => "Mb/s",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Segments => "segments",
            Self::Percent => "%",
        }
    }
}

/// The number that a value is, in the unit of its kind.
#[expect(clippy::cast_precision_loss, reason = "the place of a point")]
fn read(value: &CaseValue) -> Option<(Unit, f64)> {
    let text = match value {
        CaseValue::Integer(number) => return Some((Unit::None, *number as f64)),
        CaseValue::Flag(_) => return None,
        CaseValue::Text(text) => text,
    };
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number
        .map(|number| (Unit::None, number))
        .or_else(|| is(text, |it: Duration| (Unit::Milliseconds, it.as_secs_f64() * 1e3)))
        .or_else(|| is(text, |it: Rate| (Unit::Megabits, it.get() as f64 / 1e6)))
        .or_else(|| is(text, |it: ByteCount| (Unit::Bytes, it.0 as f64)))
        .or_else(|| is(text, |it: Packets| (Unit::Packets, f64::from(it.0.get()))))
        .or_else(|| is(text, |it: Segments| (Unit::Segments, f64::from(it.0))))
        .or_else(|| {
            let percent = |it: Probability| f64::from(it.as_per_million()) / 1e4;
            is(text, |it| (Unit::Percent, percent(it)))
        })
}

fn is<Q: Quantity>(text: &str, shown: impl FnOnce(Q) -> (Unit, f64)) -> Option<(Unit, f64)> {
    parse(text).ok().map(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_of_their_kind() {
        let text = |text: &str| read(&CaseValue::Text(text.to_owned()));
        assert_eq!(read(&CaseValue::Integer(7)), Some((Unit::None, 7.0)));
        assert_eq!(text("0.5"), Some((Unit::None, 0.5)));
        assert_eq!(text("20 ms"), text("0.02 s"));
        assert_eq!(text("1.5 Mb/s"), Some((Unit::Megabits, 1.5)));
        assert_eq!(text("4 KiB"), Some((Unit::Bytes, 4_096.0)));
        assert_eq!(text("25 packets"), Some((Unit::Packets, 25.0)));
        assert_eq!(text("0.5 %"), Some((Unit::Percent, 0.5)));
        for word in ["serial", "", "inf", "true"] {
            assert_eq!(text(word), None, "{word}");
        }
    }
}
