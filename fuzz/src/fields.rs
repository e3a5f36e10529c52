//! Field blocks of HTTP/2 as another implementation reads them.

use std::{collections::BTreeMap, fmt, time::Duration};

/// A decoder of one direction.
#[derive(Default)]
pub struct Oracle(loona_hpack::Decoder<'static>);

/// The last value of each name.
#[derive(Debug, Default)]
pub struct Fields(BTreeMap<Vec<u8>, String>);

impl fmt::Debug for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oracle")
    }
}

impl Oracle {
    /// What a block says; `None` if it is broken.
    pub fn read(&mut self, block: &[u8]) -> Option<Fields> {
        let fields = self.0.decode(block).ok()?;
        let text = |it: Vec<u8>| String::from_utf8_lossy(&it).into_owned();
        Some(Fields(fields.into_iter().map(|(name, value)| (name, text(value))).collect()))
    }
}

/// Of each, `None` is unknown, which is always allowed.
///
/// # Panics
///
/// If what is known is not what the block says.
impl Fields {
    pub fn check_method(&self, ours: Option<&str>) {
        if let Some(ours) = ours {
            self.check_begins(":method", ours);
        }
    }

    /// Ours has no query, and of a URL only the path.
    pub fn check_path(&self, ours: Option<&str>) {
        if let Some(ours) = ours {
            let theirs = self.value(":path");
            assert!(theirs.contains(ours) || ours == "/", "{ours:?} of {theirs:?}");
        }
    }

    pub fn check_status(&self, ours: Option<u16>) {
        if let Some(ours) = ours {
            assert_eq!(self.value(":status").parse(), Ok(ours));
        }
    }

    pub fn check_grpc_status(&self, ours: u16) {
        assert_eq!(self.value("grpc-status").parse(), Ok(ours));
    }

    pub fn check_timeout(&self, ours: Option<Duration>) {
        let Some(ours) = ours else { return };
        let theirs = self.value("grpc-timeout");
        let (number, unit) = theirs.split_at(theirs.len() - 1);
        let number: u64 = number.parse().expect("digits");
        let nanos = match unit {
            "H" => 3_600_000_000_000,
            "M" => 60_000_000_000,
            "S" => 1_000_000_000,
            "m" => 1_000_000,
            "u" => 1_000,
            "n" => 1,
            other => panic!("{ours:?} of unit {other:?}"),
        };
        assert_eq!(ours.as_nanos(), u128::from(number) * nanos, "{theirs}");
    }

    /// At most the first 1,024 bytes are kept.
    fn check_begins(&self, name: &str, ours: &str) {
        let theirs = self.value(name);
        let is_cut = ours.len() > 1_000;
        assert!(theirs == ours || is_cut && theirs.starts_with(ours), "{ours:?} of {theirs:?}");
    }

    fn value(&self, name: &str) -> &str {
        self.0.get(name.as_bytes()).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }
}
