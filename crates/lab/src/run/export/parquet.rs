//! Rows as a Parquet file.

use ::parquet::errors::Result;

use super::{super::row::Row, columns};

pub use ::parquet::errors::ParquetError;

/// All [`columns`], as the bytes of a Parquet file.
///
/// # Errors
///
/// If the library refuses, which it has no reason to.
pub fn parquet(rows: &[Row]) -> Result<Vec<u8>> {
    ackwise_report::columns::write(&columns(rows))
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
