//! Rows in columns, handed over by the Arrow C stream interface: the receiver gets pointers, and nothing is copied.

use std::sync::Arc;

use ackwise_report::columns::{Column, Values};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions,
    cast::AsArray,
    ffi_stream::FFI_ArrowArrayStream,
    make_array,
    types::{Float64Type, Int64Type},
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, ffi::FFI_ArrowSchema};
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyCapsule, PyDict},
};

/// Rows in columns, in one piece or, if they come from several places, in one for each.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Batch {
    schema: SchemaRef,
    pieces: Vec<RecordBatch>,
}

impl Batch {
    pub(crate) fn of(columns: Vec<Column>) -> PyResult<Self> {
        Self::from_arrays(columns.into_iter().map(|it| (it.name, array(it.values))))
    }

    fn from_arrays(columns: impl Iterator<Item = (String, ArrayRef)>) -> PyResult<Self> {
        let piece = Self::piece(columns)?;
        Ok(Self { schema: piece.schema(), pieces: vec![piece] })
    }

    fn piece(columns: impl Iterator<Item = (String, ArrayRef)>) -> PyResult<RecordBatch> {
        let (names, arrays): (Vec<_>, Vec<_>) = columns.unzip();
        let fields = names.into_iter().zip(&arrays);
        let fields: Vec<_> =
            fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        let rows = arrays.first().map_or(0, Array::len);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(wrong)
    }
}

#[pymethods]
impl Batch {
    /// A capsule named `arrow_array_stream`: a batch for each piece.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let pieces = self.pieces.clone().into_iter().map(Ok);
        let batches = RecordBatchIterator::new(pieces, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A capsule named `arrow_schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.pieces.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The size of all columns in memory, in bytes.
    fn bytes(&self) -> usize {
        let columns = self.pieces.iter().flat_map(RecordBatch::columns);
        columns.map(|array| array.get_buffer_memory_size()).sum()
    }

    /// A dict for each row.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut rows = Vec::with_capacity(self.__len__());
        for piece in &self.pieces {
            for row in 0..piece.num_rows() {
                let values = PyDict::new(py);
                for (field, array) in self.schema.fields().iter().zip(piece.columns()) {
                    values.set_item(field.name(), value(py, array, row)?)?;
                }
                rows.push(values);
            }
        }
        Ok(rows)
    }

    /// For pickle: of each piece, the number of rows, and the buffers of each column.
    fn parts<'py>(&self, py: Python<'py>) -> Vec<(usize, Vec<Part<'py>>)> {
        let part = |(field, array): (&Arc<Field>, &ArrayRef)| {
            let data = array.to_data();
            let bytes = |buffer: &Buffer| PyBytes::new(py, buffer);
            let nulls = data.nulls().map(|it| bytes(it.buffer()));
            let buffers = data.buffers().iter().map(bytes).collect();
            (field.name().clone(), kind(data.data_type()), nulls, buffers)
        };
        let columns = |piece: &RecordBatch| {
            self.schema.fields().iter().zip(piece.columns()).map(part).collect()
        };
        self.pieces.iter().map(|piece| (piece.num_rows(), columns(piece))).collect()
    }
}

/// One value of a column, of which there are the types of [`array`].
fn value<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
        _ => array.as_string::<i64>().value(row).into_bound_py_any(py),
    }
}

/// A column: its name, what it holds, which values are null, and the values.
type Part<'py> = (String, &'static str, Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

/// The batch with these [`Batch::parts`].
#[pyfunction]
#[allow(clippy::type_complexity, reason = "what pickle hands over")]
pub(crate) fn restore(
    parts: Vec<(usize, Vec<(String, String, Option<Vec<u8>>, Vec<Vec<u8>>)>)>,
) -> PyResult<Batch> {
    let mut pieces = Vec::with_capacity(parts.len());
    for (rows, parts) in parts {
        let mut columns = Vec::with_capacity(parts.len());
        for (name, kind, nulls, buffers) in parts {
            // Copied, because Arrow wants numbers aligned.
            let buffers = buffers.iter().map(Buffer::from_slice_ref).collect();
            let data = ArrayData::builder(data_type(&kind)?)
                .len(rows)
                .null_bit_buffer(nulls.map(Buffer::from_vec))
                .buffers(buffers)
                .build()
                .map_err(wrong)?;
            columns.push((name, make_array(data)));
        }
        pieces.push(Batch::piece(columns.into_iter())?);
    }
    let schema = pieces.first().map(RecordBatch::schema);
    let schema = schema.ok_or_else(|| PyValueError::new_err("no piece of a table"))?;
    Ok(Batch { schema, pieces })
}

/// A batch of columns of whole numbers, and then of texts.
#[pyfunction]
pub(crate) fn table(
    integers: Vec<(String, Vec<i64>)>,
    texts: Vec<(String, Vec<String>)>,
) -> PyResult<Batch> {
    let integers = integers
        .into_iter()
        .map(|(name, values)| (name, Arc::new(Int64Array::from_iter_values(values)) as ArrayRef));
    let texts = texts.into_iter().map(|(name, values)| {
        (name, Arc::new(LargeStringArray::from_iter_values(values)) as ArrayRef)
    });
    Batch::from_arrays(integers.chain(texts))
}

/// The rows of all `parts`, and before their columns the new one `name`, which has one value for each part. `like` stands
/// for them if there is none: it has the same columns, and no rows.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn stacked(
    name: &str,
    parts: Vec<(String, Bound<'_, Batch>)>,
    like: Bound<'_, Batch>,
) -> PyResult<Batch> {
    let with = |value: &str, piece: &RecordBatch| {
        let values =
            LargeStringArray::from_iter_values(std::iter::repeat_n(value, piece.num_rows()));
        let schema = piece.schema();
        let own = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .zip(piece.columns().iter().cloned());
        Batch::piece(std::iter::once((name.to_owned(), Arc::new(values) as ArrayRef)).chain(own))
    };
    let all_of = |value, part: &Batch| -> PyResult<Vec<_>> {
        part.pieces.iter().map(|piece| with(value, piece)).collect()
    };
    let mut pieces = Vec::new();
    for (value, part) in &parts {
        pieces.extend(all_of(value, part.get())?);
    }
    if pieces.is_empty() {
        pieces = all_of("", like.get())?;
    }
    let schema = pieces.first().map(RecordBatch::schema);
    match schema.filter(|schema| pieces.iter().all(|piece| piece.schema() == *schema)) {
        Some(schema) => Ok(Batch { schema, pieces }),
        None => Err(PyValueError::new_err("tables with other columns")),
    }
}

/// Values as Arrow has them. Without null, there is no bitmap of them.
fn array(values: Values) -> ArrayRef {
    match values {
        Values::Integers(values) if values.iter().all(Option::is_some) => {
            Arc::new(Int64Array::from_iter_values(values.into_iter().flatten()))
        }
        Values::Integers(values) => Arc::new(Int64Array::from(values)),
        Values::Numbers(values) if values.iter().all(Option::is_some) => {
            Arc::new(Float64Array::from_iter_values(values.into_iter().flatten()))
        }
        Values::Numbers(values) => Arc::new(Float64Array::from(values)),
        // More than 2 GiB of text are possible, which 32-bit offsets cannot address.
        Values::Texts(values) => Arc::new(LargeStringArray::from(values)),
        Values::Flags(values) => Arc::new(BooleanArray::from(values)),
    }
}

const fn kind(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int64 => "integers",
        DataType::Float64 => "numbers",
        DataType::Boolean => "flags",
        _ => "texts",
    }
}

fn data_type(kind: &str) -> PyResult<DataType> {
    match kind {
        "integers" => Ok(DataType::Int64),
        "numbers" => Ok(DataType::Float64),
        "flags" => Ok(DataType::Boolean),
        "texts" => Ok(DataType::LargeUtf8),
        _ => Err(PyValueError::new_err(format!("unknown kind of column {kind:?}"))),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
