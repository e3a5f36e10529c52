//! Rows for data frames: labels, seed, measures, where a row comes from.

use ::parquet::errors::Result;
use ackwise_report::columns::{self, Column};

use super::{super::row::Row, labels, measures, origin};

pub use ::parquet::errors::ParquetError;

/// All rows with all measures, as the bytes of a Parquet file. A label is a number if it is one in every
/// row, else text; a measure that a row does not have is null.
///
/// # Errors
///
/// If the library refuses, which it has no reason to.
pub fn parquet(rows: &[Row]) -> Result<Vec<u8>> {
    let mut columns: Vec<Column> = labels(rows).into_iter().map(|name| label(name, rows)).collect();
    let seeds = rows.iter().map(|row| i64::try_from(row.seed).ok());
    columns.push(Column::integers("seed", seeds));
    for name in measures(rows) {
        columns.push(Column::numbers(name, rows.iter().map(|row| row.measure(name))));
    }
    let origins: Vec<_> = rows.iter().map(origin).collect();
    for name in origins.first().into_iter().flat_map(|origin| origin.keys().copied()) {
        columns.push(Column::texts(name, origins.iter().map(|origin| Some(&origin[name]))));
    }
    columns::write(&columns)
}

fn label(name: &str, rows: &[Row]) -> Column {
    let values = || rows.iter().map(|row| row.case.get(name));
    let integers: Option<Vec<_>> = values().map(|value| value?.as_integer().map(Some)).collect();
    match integers {
        Some(integers) => Column::integers(name, integers.into_iter()),
        None => Column::texts(name, values().map(|value| Some(value?.to_string()))),
    }
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
        let bytes = parquet(&rows).unwrap();
        let path = env::temp_dir().join(format!("ackwise-{}.parquet", process::id()));
        fs::write(&path, bytes).unwrap();
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
