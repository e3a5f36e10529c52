//! Paths that the papers name, as data. A number whose source is not the papers says so.

use super::path::Path;

/// A kind of path, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// As the papers call it.
    pub name: &'static str,
    /// Bits a second.
    pub rate: f64,
    /// Round-trip time, in seconds.
    pub rtt: f64,
    /// Data bytes of a full segment, as usual there at the time.
    pub mss: u32,
    /// Whether `rate` is what users get; else headers come off it.
    pub user_level: bool,
    /// Where the numbers are from.
    pub confidence: Confidence,
}

/// Where a parameter is from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confidence {
    /// Heidemann 1996 and 1997 print it (of Ethernet: "RTT less than 1ms").
    Printed,
    /// Usual for its kind; no source at hand prints it. Nothing is asserted on it.
    Usual,
}

impl Network {
    /// Those of the papers and of the model they cite.
    pub const ALL: [Self; 8] = [
        Self { user_level: true, ..Self::printed("ethernet", 8.7e6, 0.0007, 1460) },
        Self::printed("fast-internet", 1e6, 0.090, 512),
        Self::usual("slow-internet", 0.1e6, 0.160),
        Self::usual("modem", 28.8e3, 0.250),
        Self::usual("isdn", 128e3, 0.030),
        Self::usual("wavelan", 1e6, 0.040),
        Self::usual("adsl", 6e6, 0.030),
        Self::usual("direcpc", 1e6, 0.500),
    ];

    /// By name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name == name)
    }

    /// The path, with segments of `mss` bytes that take 40 more for TCP and IP.
    #[must_use]
    pub fn path(self, mss: u32) -> Path {
        if self.user_level {
            return Path { rtt: self.rtt, bandwidth: self.rate / 8.0, mss };
        }
        Path::user_level(self.rate, self.rtt, mss, 40)
    }

    const fn printed(name: &'static str, rate: f64, rtt: f64, mss: u32) -> Self {
        Self { name, rate, rtt, mss, user_level: false, confidence: Confidence::Printed }
    }

    const fn usual(name: &'static str, rate: f64, rtt: f64) -> Self {
        Self { name, rate, rtt, mss: 512, user_level: false, confidence: Confidence::Usual }
    }
}
