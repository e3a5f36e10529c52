//! Field blocks of HTTP/2 as another implementation reads them.

use std::{collections::BTreeMap, fmt, time::Duration};

/// A decoder of one direction.
#[derive(Default)]
pub struct Oracle(loona_hpack::Decoder<'static>);

/// All values of each name, in order. Ours is one of them, and not always the last: a block that
/// repeats a name may be readable only in part, since a decoder may refuse long integers (RFC 7541,
/// section 5.1).
#[derive(Debug, Default)]
pub struct Fields(BTreeMap<Vec<u8>, Vec<String>>);

impl fmt::Debug for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oracle")
    }
}

impl Oracle {
    /// What a block says; `None` if it is broken.
    pub fn read(&mut self, block: &[u8]) -> Option<Fields> {
        let fields = self.0.decode(block).ok()?;
        let mut all = Fields::default();
        for (name, value) in fields {
            let value = String::from_utf8_lossy(&value).into_owned();
            all.0.entry(name).or_default().push(value);
        }
        Some(all)
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
            // Of a long one, only the first 1,024 bytes are kept, and less if that cuts a character.
            let is_cut = ours.len() > 1_000;
            self.check(":method", ours, |it| it == ours || is_cut && it.starts_with(ours));
        }
    }

    /// Ours has no query, and of a URL only the path.
    pub fn check_path(&self, ours: Option<&str>) {
        if let Some(ours) = ours {
            self.check(":path", ours, |it| it.contains(ours) || ours == "/");
        }
    }

    pub fn check_status(&self, ours: Option<u16>) {
        if let Some(ours) = ours {
            self.check(":status", ours, |it| it.parse() == Ok(ours));
        }
    }

    pub fn check_grpc_status(&self, ours: u16) {
        self.check("grpc-status", ours, |it| it.parse() == Ok(ours));
    }

    pub fn check_timeout(&self, ours: Option<Duration>) {
        if let Some(ours) = ours {
            self.check("grpc-timeout", ours, |it| nanos(it) == Some(ours.as_nanos()));
        }
    }

    fn check(&self, name: &str, ours: impl fmt::Debug, is_ours: impl Fn(&str) -> bool) {
        let theirs = self.0.get(name.as_bytes()).map_or(&[][..], Vec::as_slice);
        assert!(theirs.iter().any(|it| is_ours(it)), "{name} is {ours:?} of {theirs:?}");
    }
}

/// Digits and a unit, as in `100m` (gRPC over HTTP/2).
fn nanos(timeout: &str) -> Option<u128> {
    let (at, unit) = timeout.char_indices().next_back()?;
    let unit = match unit {
        'H' => 3_600_000_000_000,
        'M' => 60_000_000_000,
        'S' => 1_000_000_000,
        'm' => 1_000_000,
        'u' => 1_000,
        'n' => 1,
        _ => return None,
    };
    timeout[..at].parse::<u64>().ok().map(|number| u128::from(number) * unit)
}
