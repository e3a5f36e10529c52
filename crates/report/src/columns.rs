//! Columns for data frames, as the bytes of a Parquet file. One row group, no compression.

use std::sync::Arc;

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

/// One value of each row, by a name.
pub struct Column {
    name: String,
    values: Values,
}

/// `None` is null.
enum Values {
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<ByteArray>>),
}

/// All columns, which must be of the same length, as a file.
pub fn write(columns: &[Column]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(Column::field).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close()?;
    file.into_inner()
}

impl Column {
    /// Whole numbers.
    pub fn integers(name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        Self { name: name.to_owned(), values: Values::Integers(values.collect()) }
    }

    /// Numbers.
    pub fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        Self { name: name.to_owned(), values: Values::Numbers(values.collect()) }
    }

    /// Texts.
    pub fn texts<S: AsRef<str>>(name: &str, values: impl Iterator<Item = Option<S>>) -> Self {
        let bytes = |text: S| text.as_ref().as_bytes().to_vec().into();
        let values = values.map(|value| value.map(bytes)).collect();
        Self { name: name.to_owned(), values: Values::Texts(values) }
    }

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
            Values::Integers(values) => write_values::<Int64Type>(values, group),
            Values::Numbers(values) => write_values::<DoubleType>(values, group),
            Values::Texts(values) => write_values::<ByteArrayType>(values, group),
        }
    }
}

/// Definition level 0 is null, 1 is a value.
fn write_values<D: DataType>(
    values: &[Option<D::T>],
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<D::T> = values.iter().flatten().cloned().collect();
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<D>().write_batch(&present, Some(&levels), None)?;
    column.close()
}
