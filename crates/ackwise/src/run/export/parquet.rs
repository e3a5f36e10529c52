//! Columns for data frames: labels, seed, measures, where a row comes from. One row group, no compression.

use std::{collections::BTreeSet, sync::Arc};

use parquet::{
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

pub use parquet::errors::ParquetError;

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
