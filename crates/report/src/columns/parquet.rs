//! One row group, no compression, and a checksum: the library panics on some damaged files.

use std::{fs::File, io::Read, ops::Range, sync::Arc};

use ::parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, RowGroupReader, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{ColumnDescriptor, Type, TypePtr},
};

use bytes::Bytes;
use ring::digest::{SHA256, digest};

use super::{Column, Values};

/// All columns, which must be of the same length, as a file.
pub fn write(columns: &[Column]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let no_sum = KeyValue::new("checksum".to_owned(), format!("{SUM}{}", "0".repeat(DIGITS)));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![no_sum]));
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in columns {
        write_column(column, &mut group)?;
    }
    group.close()?;
    let mut file = file.into_inner()?;
    let place = place_of_sum(&file).expect("it is among what was written");
    let sum = sum(&file);
    file[place].copy_from_slice(sum.as_bytes());
    Ok(file)
}

/// Of a file whose own sum is zeros.
fn sum(file: &[u8]) -> String {
    digest(&SHA256, file).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digits of the sum, near the end of a file.
fn place_of_sum(file: &[u8]) -> Option<Range<usize>> {
    let before = file.windows(SUM.len()).rposition(|it| it == SUM.as_bytes())?;
    let begin = before + SUM.len();
    (begin + DIGITS <= file.len()).then_some(begin..begin + DIGITS)
}

/// What stands before the sum.
const SUM: &str = "sha256:";
/// Of the sum, in hexadecimal.
const DIGITS: usize = 64;

/// The columns of a file that [`write`] has written.
///
/// # Errors
///
/// If it is not such a file, or is damaged.
pub fn read(mut file: File) -> Result<Vec<Column>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    read_bytes(bytes)
}

fn read_bytes(mut file: Vec<u8>) -> Result<Vec<Column>> {
    let place = place_of_sum(&file);
    let place = place.ok_or_else(|| ParquetError::General("has no checksum".to_owned()))?;
    let expected = file[place.clone()].to_vec();
    file[place].fill(b'0');
    if sum(&file).as_bytes() != expected {
        return Err(ParquetError::General("has another checksum: it is damaged".to_owned()));
    }
    let file = SerializedFileReader::new(Bytes::from(file))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_an_error() {
        let columns = [
            Column::integers("row", (0..40).map(Some)),
            Column::numbers(
                "page_time_ms",
                (0..40).map(|it| (it % 3 > 0).then_some(f64::from(it))),
            ),
            Column::texts("trace", (0..40).map(|it| (it % 5 > 0).then_some("sha256:"))),
        ];
        let whole = write(&columns).unwrap();
        assert_eq!(read_bytes(whole.clone()).unwrap(), columns);
        for at in 0..whole.len() {
            assert!(read_bytes(whole[..at].to_vec()).is_err(), "cut after {at}");
            for flipped in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flipped;
                assert!(read_bytes(damaged).is_err(), "{flipped:#x} at {at}");
            }
        }
    }
}
