//! The equations for buffer sizes, on arrays. Times are in seconds, sizes in bytes.

use std::num::{NonZeroU8, NonZeroU32};

use ackwise_tcp::{ByteCount, Nanos};
use ackwise_tuning::{Division, Eatbt, Loss, LossRate, Model, Path, Sender, Spare};
use pyo3::{exceptions::PyValueError, prelude::*};

/// PFTK: the throughput of each path in segments a second. The arrays are of the same length.
#[pyfunction]
pub(crate) fn pftk(
    loss: Vec<f64>,
    round_trip: Vec<f64>,
    timeout: Vec<f64>,
    max_window: Vec<u32>,
    segments_per_ack: u8,
    model: &str,
) -> PyResult<Vec<f64>> {
    let model = match model {
        "full" => Model::Full,
        "approximate" => Model::Approximate,
        _ => return Err(wrong(&format!("model is {model:?} (expected full or approximate)"))),
    };
    let one = |at: usize| {
        let path = Path {
            loss: rate(loss[at])?,
            round_trip: span("round_trip", round_trip[at])?,
            timeout: span("timeout", timeout[at])?,
            max_window: NonZeroU32::new(max_window[at])
                .ok_or_else(|| wrong("max_window is 0 (expected at least 1 segment)"))?,
            segments_per_ack: per_ack(segments_per_ack)?,
        };
        Ok(model.throughput(&path).as_f64())
    };
    (0..loss.len()).map(one).collect()
}

/// E-ATBT: the send buffer that each connection can use, in bytes. The arrays are of the same length.
#[pyfunction]
pub(crate) fn e_atbt(
    loss: Vec<f64>,
    round_trip: Vec<f64>,
    timeout: Vec<f64>,
    peer_window: Vec<u64>,
    mss: u32,
    segments_per_ack: u8,
) -> PyResult<Vec<u64>> {
    let mss = NonZeroU32::new(mss).ok_or_else(|| wrong("mss is 0 (expected at least 1 byte)"))?;
    let one = |at: usize| {
        let sender = Sender {
            loss: Loss::Measured(rate(loss[at])?),
            round_trip: span("round_trip", round_trip[at])?,
            timeout: span("timeout", timeout[at])?,
            mss,
            peer_window: ByteCount(peer_window[at]),
            segments_per_ack: per_ack(segments_per_ack)?,
        };
        Ok(Eatbt::OKAMOTO_2001.demand(&sender).bytes.0)
    };
    (0..loss.len()).map(one).collect()
}

/// The max-min fair shares of a pool, in bytes.
#[pyfunction]
pub(crate) fn max_min(pool: u64, demands: Vec<u64>, spare: &str) -> PyResult<Vec<u64>> {
    let spare = match spare {
        "keep" => Spare::Keep,
        "proportional" => Spare::Proportional,
        "equal" => Spare::Equal,
        _ => {
            let what = format!("spare is {spare:?} (expected keep, proportional or equal)");
            return Err(wrong(&what));
        }
    };
    let division = Division::new(ByteCount(pool), demands.iter().copied().map(ByteCount), spare);
    Ok(demands.into_iter().map(|demand| division.share(ByteCount(demand)).bytes.0).collect())
}

fn rate(loss: f64) -> PyResult<LossRate> {
    LossRate::new(loss).ok_or_else(|| wrong(&format!("loss is {loss} (expected 0 to 1)")))
}

fn span(name: &str, seconds: f64) -> PyResult<Nanos> {
    let span = std::time::Duration::try_from_secs_f64(seconds).ok();
    let nanos = span.and_then(|span| u64::try_from(span.as_nanos()).ok());
    let nanos =
        nanos.ok_or_else(|| wrong(&format!("{name} is {seconds} (expected seconds, from 0)")))?;
    Ok(Nanos::new(nanos))
}

fn per_ack(segments: u8) -> PyResult<NonZeroU8> {
    NonZeroU8::new(segments).ok_or_else(|| wrong("segments_per_ack is 0 (expected 1 to 255)"))
}

fn wrong(what: &str) -> PyErr {
    PyValueError::new_err(what.to_owned())
}
