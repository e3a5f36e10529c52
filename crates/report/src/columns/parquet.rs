//! One row group, no compression.

use std::sync::Arc;

use ::parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::Result,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};

use super::{Column, Values};

/// All columns, which must be of the same length, as a file.
pub fn write(columns: &[Column]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in columns {
        write_column(column, &mut group)?;
    }
    group.close()?;
    file.into_inner()
}

fn field(column: &Column) -> Result<TypePtr> {
    let physical = match column.values {
        Values::Integers(_) => Physical::INT64,
        Values::Numbers(_) => Physical::DOUBLE,
        Values::Texts(_) => Physical::BYTE_ARRAY,
        Values::Flags(_) => Physical::BOOLEAN,
    };
    let logical = matches!(column.values, Values::Texts(_)).then_some(LogicalType::String);
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

fn write_column(column: &Column, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<()> {
    match &column.values {
        Values::Integers(values) => write_values::<Int64Type, _>(values, group, |it| *it),
        Values::Numbers(values) => write_values::<DoubleType, _>(values, group, |it| *it),
        Values::Texts(values) => {
            write_values::<ByteArrayType, _>(values, group, |it| it.as_str().into())
        }
        Values::Flags(values) => write_values::<BoolType, _>(values, group, |it| *it),
    }
}

/// Definition level 0 is null, 1 is a value.
fn write_values<D: DataType, T>(
    values: &[Option<T>],
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    physical: impl Fn(&T) -> D::T,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<D::T> = values.iter().flatten().map(physical).collect();
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<D>().write_batch(&present, Some(&levels), None)?;
    column.close()
}
