//! One row group, no compression.

use std::{fs::File, sync::Arc};

use ::parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::{
        properties::WriterProperties,
        reader::{FileReader, RowGroupReader, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{ColumnDescriptor, Type, TypePtr},
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

/// The columns of a file that [`write`] has written.
///
/// # Errors
///
/// If it is not such a file.
pub fn read(file: File) -> Result<Vec<Column>> {
    let file = SerializedFileReader::new(file)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    if file.num_row_groups() != 1 {
        let what = format!("has {} row groups (expected 1)", file.num_row_groups());
        return Err(ParquetError::General(what));
    }
    let group = file.get_row_group(0)?;
    let named = |(at, column): (usize, &Arc<ColumnDescriptor>)| {
        let values = match column.physical_type() {
            Physical::INT64 => Values::Integers(read_values::<Int64Type>(&*group, at)?),
            Physical::DOUBLE => Values::Numbers(read_values::<DoubleType>(&*group, at)?),
            Physical::BOOLEAN => Values::Flags(read_values::<BoolType>(&*group, at)?),
            Physical::BYTE_ARRAY => Values::Texts(
                read_values::<ByteArrayType>(&*group, at)?
                    .into_iter()
                    .map(|value| value.map(|it| it.as_utf8().map(str::to_owned)).transpose())
                    .collect::<Result<_>>()?,
            ),
            other => return Err(ParquetError::General(format!("unexpected type {other}"))),
        };
        Ok(Column { name: column.name().to_owned(), values })
    };
    schema.columns().iter().enumerate().map(named).collect()
}

/// All values of a column that may be null.
fn read_values<D: DataType>(group: &dyn RowGroupReader, at: usize) -> Result<Vec<Option<D::T>>> {
    let wrong = |what: &str| ParquetError::General(format!("column {at}: {what}"));
    let mut reader = D::get_column_reader(group.get_column_reader(at)?)
        .ok_or_else(|| wrong("has another type than the schema says"))?;
    let (mut levels, mut present) = (Vec::new(), Vec::new());
    while reader.read_records(MOST_AT_ONCE, Some(&mut levels), None, &mut present)?.0 > 0 {}
    let mut present = present.into_iter();
    let value = |level: i16| match level {
        0 => Ok(None),
        _ => present.next().map(Some).ok_or_else(|| wrong("has fewer values than it says")),
    };
    levels.into_iter().map(value).collect()
}

/// Values that are read at once (our choice).
const MOST_AT_ONCE: usize = 1 << 16;

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
