//! Columns for data frames: labels, seed, measures, where a row comes from. One row group, no compression.

use std::{collections::BTreeSet, sync::Arc};

use ::parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::Result,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};

use super::{super::row::Row, labels, measures, origin};

pub use ::parquet::errors::ParquetError;

/// All rows with all measures, as the octets of a Parquet file. A label is a number if it is one in every
/// row, else text; a measure that a row does not have is null.
///
/// # Errors
///
/// If the library refuses, which it has no reason to.
pub fn parquet(rows: &[Row]) -> Result<Vec<u8>> {
    let columns = columns(rows);
    let fields = columns.iter().map(Column::field).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        column.write(&mut group)?;
    }
    group.close()?;
    file.into_inner()
}

struct Column {
    name: String,
    values: Values,
}

/// `None` is null.
enum Values {
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<ByteArray>>),
}

fn columns(rows: &[Row]) -> Vec<Column> {
    let names: BTreeSet<&str> = measures(rows);
    let number = |name: &str| rows.iter().map(|row| row.measure(name)).collect();
    let mut columns: Vec<Column> = labels(rows).into_iter().map(|name| label(name, rows)).collect();
    let seeds = rows.iter().map(|row| i64::try_from(row.seed).ok()).collect();
    columns.push(Column { name: "seed".to_owned(), values: Values::Integers(seeds) });
    columns.extend(
        names
            .into_iter()
            .map(|name| Column { name: name.to_owned(), values: Values::Numbers(number(name)) }),
    );
    let origins: Vec<_> = rows.iter().map(origin).collect();
    for name in origins.first().into_iter().flat_map(|origin| origin.keys().copied()) {
        let texts = origins.iter().map(|origin| Some(text(&origin[name]))).collect();
        columns.push(Column { name: name.to_owned(), values: Values::Texts(texts) });
    }
    columns
}

fn label(name: &str, rows: &[Row]) -> Column {
    let values = || rows.iter().map(|row| row.case.get(name));
    let integers: Option<Vec<_>> = values().map(|value| value?.as_integer().map(Some)).collect();
    let values = integers.map_or_else(
        || Values::Texts(values().map(|value| Some(text(&value?.to_string()))).collect()),
        Values::Integers,
    );
    Column { name: name.to_owned(), values }
}

fn text(text: &str) -> ByteArray {
    text.as_bytes().to_vec().into()
}

impl Column {
    fn field(&self) -> Result<TypePtr> {
        let physical = match self.values {
            Values::Integers(_) => Physical::INT64,
            Values::Numbers(_) => Physical::DOUBLE,
            Values::Texts(_) => Physical::BYTE_ARRAY,
        };
        let logical = matches!(self.values, Values::Texts(_)).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Ok(Arc::new(field.build()?))
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<()> {
        match &self.values {
            Values::Integers(values) => write::<Int64Type>(values, group),
            Values::Numbers(values) => write::<DoubleType>(values, group),
            Values::Texts(values) => write::<ByteArrayType>(values, group),
        }
    }
}

/// Definition level 0 is null, 1 is a value.
fn write<D: DataType>(
    values: &[Option<D::T>],
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<D::T> = values.iter().flatten().cloned().collect();
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<D>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use ::parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::RowAccessor,
    };

    use super::*;
    use crate::{
        experiment::Experiment,
        run::{Options, run_all},
    };

    #[test]
    fn what_is_written_can_be_read() {
        let text = r#"
            duration = "1 s"
            seeds = 2
            host.client = {}
            host.server = {}
            link.wire = { ends = ["client", "server"], rate = "1 Mb/s", delay = "1 ms" }
            application.web = { kind = "web", client = "client", server = "server",
                workload = "heidemann", transfer = "serial" }
            [grid]
            "application.web.users" = [1, 2]
            "link.wire.delay" = ["1 ms", "600 ms"]
        "#;
        let experiment = Experiment::parse("small.toml", text).unwrap();
        let rows = run_all(&experiment, &Options::default(), &mut |_| {}).unwrap();
        let octets = parquet(&rows).unwrap();
        let path = env::temp_dir().join(format!("ackwise-{}.parquet", process::id()));
        fs::write(&path, octets).unwrap();
        let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
        let read: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), rows.len());
        let at = |name: &str| {
            let columns: Vec<_> = read[0].get_column_iter().map(|(name, _)| name).collect();
            columns.iter().position(|column| *column == name).unwrap()
        };
        let (users, delay, seed) = (at("application.web.users"), at("link.wire.delay"), at("seed"));
        let (rate, events) = (at("web.rate_mean"), at("work.events"));
        for (row, read) in rows.iter().zip(&read) {
            let label = |name: &str| row.case.get(name).unwrap();
            let users = read.get_long(users).unwrap();
            assert_eq!(Some(users), label("application.web.users").as_integer());
            assert_eq!(*read.get_string(delay).unwrap(), label("link.wire.delay").to_string());
            assert_eq!(u64::try_from(read.get_long(seed).unwrap()), Ok(row.seed));
            assert_eq!(read.get_double(events).ok(), row.measure("work.events"));
            // No document is complete within a second at 600 ms: null.
            assert_eq!(read.get_double(rate).ok(), row.measure("web.rate_mean"));
        }
        assert!(rows.iter().any(|row| row.measure("web.rate_mean").is_none()));
    }
}
