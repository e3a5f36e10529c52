//! How much of its connections a capture has: the first line of every report.

use std::fmt;

use ackwise_capture::{
    analysis::ConnectionResult, attribution::Confidence, conversation::Protocol,
};
use ackwise_text::words::{counted, grouped};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    followed::FollowedPart,
    reading::{Explained, UnreadFiles},
};

/// How much of its connections a capture has, in total.
///
/// Missing packets are those that were acknowledged but never captured: they were delivered, so the
/// capture lost them, not the network.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CaptureQuality {
    /// Number of connections.
    pub connections: u64,
    /// Number of QUIC connections (HTTP/3), which are not analysed.
    pub quic_connections: u64,
    /// Number of packets that were delivered but not captured, at least.
    pub missing_packets: u64,
    /// Their bytes.
    pub missing_bytes: u64,
    /// Number of connections with such packets.
    pub connections_with_missing_packets: u64,
    /// Number of connections of which the capture has one direction only; nothing is attributed there.
    pub one_direction_only: u64,
    /// Number of connections that had begun before the capture: their handshake is missing, so a program's time may be in
    /// the shortest round trip.
    pub begun_before_capture: u64,
    /// Number of connections without the ACKs that a receiver must have sent.
    pub without_acks: u64,
    /// Number of data packets captured only in part: the snap length cut them off.
    pub cut_packets: u64,
    /// Number of HTTP/2 connections whose flow control may have held data, but is not judged, since frames that would show
    /// it are cut or missing.
    pub flow_control_unseen: u64,
    /// Those of them that are sealed by TLS.
    #[serde(skip)]
    sealed_flow_control: u64,
    /// Number of packets with more data than a segment may have: the capturing host's network interface
    /// divides what it sends or joins what it receives (offloads), so that the segments on the wire are
    /// not seen.
    pub oversized_packets: u64,
    /// How often packets of a connection go back in time by more than 1 ms: the capture's clock was set
    /// back.
    pub clock_steps: u64,
    /// Number of connections on which no verdict has high confidence.
    pub limited_connections: u64,
    /// Number of files that end in the middle of a packet; what was read before is analysed.
    pub cut_off_files: u64,
    /// Number of files that could not be read behind a damage.
    pub damaged_files: u64,
    /// Number of files of which nothing could be read.
    pub unread_files: u64,
    /// Which part of all connections a live capture followed; null if it followed all.
    pub followed: Option<FollowedPart>,
}

impl CaptureQuality {
    /// Adds up what a capture has of each connection.
    ///
    /// ```
    /// use ackwise_explain::{CaptureQuality, Reading};
    ///
    /// let explained = Reading::new().end().expect("nobody else ends it");
    /// let quality = CaptureQuality::of(&explained);
    /// assert_eq!(quality.to_string(), "Capture: no TCP connection.");
    /// ```
    #[must_use]
    pub fn of(explained: &Explained) -> Self {
        let analysis = &explained.analysis;
        let followed = explained.followed.part(analysis.unfollowed);
        let UnreadFiles { whole, cut_off, damaged } = explained.unread;
        let mut quality = Self {
            followed,
            quic_connections: explained.quic.count(),
            cut_off_files: cut_off,
            damaged_files: damaged,
            unread_files: whole,
            ..Self::default()
        };
        for connection in &analysis.connections {
            quality.add(connection);
        }
        quality
    }

    fn add(&mut self, connection: &ConnectionResult) {
        let it = &connection.quality;
        self.connections += 1;
        self.missing_packets += it.missing_packets();
        self.missing_bytes += it.directions.iter().map(|it| it.missing_bytes).sum::<u64>();
        self.connections_with_missing_packets += u64::from(it.missing_packets() > 0);
        self.one_direction_only += u64::from(it.unseen().is_some());
        self.begun_before_capture += u64::from(it.begins_in_middle);
        self.without_acks += u64::from(it.lacks_acks());
        self.oversized_packets +=
            it.directions.iter().map(|it| u64::from(it.oversized)).sum::<u64>();
        self.flow_control_unseen += u64::from(it.flow_control_unseen);
        let is_sealed = connection.protocol == Some(Protocol::Tls);
        self.sealed_flow_control += u64::from(it.flow_control_unseen && is_sealed);
        self.clock_steps += u64::from(it.clock_steps);
        self.cut_packets += it.directions.iter().map(|it| u64::from(it.cut)).sum::<u64>();
        self.limited_connections += u64::from(it.confidence() != Some(Confidence::High));
    }

    /// `1 file ends early (see the warning below)`.
    fn unread(&self) -> Option<String> {
        let kinds = [
            (self.cut_off_files, "ends early", "end early"),
            (self.damaged_files, "is damaged", "are damaged"),
            (self.unread_files, "could not be read", "could not be read"),
        ];
        let said = kinds.iter().filter(|(count, ..)| *count > 0).map(|(count, one, more)| {
            format!("{} {}", counted(*count, "file"), if *count == 1 { one } else { more })
        });
        let said: Vec<_> = said.collect();
        let files: u64 = kinds.iter().map(|it| it.0).sum();
        let warnings = if files == 1 { "warning" } else { "warnings" };
        (files > 0).then(|| format!("{} (see the {warnings} below)", said.join(", ")))
    }

    /// What shows the windows of HTTP/2.
    const fn to_see_flow_control(&self) -> &'static str {
        match (self.sealed_flow_control, self.flow_control_unseen) {
            (0, _) => "capture with `-s 0`",
            (sealed, all) if sealed == all => "read with `--keys`",
            _ => "capture with `-s 0`, read with `--keys`",
        }
    }

    fn defects(&self) -> Vec<String> {
        let mut defects = Vec::new();
        if self.missing_packets > 0 {
            defects.push(format!(
                "{} delivered but not captured ({} in {})",
                counted(self.missing_packets, "packet"),
                counted(self.missing_bytes, "byte"),
                counted(self.connections_with_missing_packets, "connection"),
            ));
        }
        if self.one_direction_only > 0 {
            defects.push(format!(
                "one direction only in {}",
                counted(self.one_direction_only, "connection")
            ));
        }
        if self.begun_before_capture > 0 {
            let connections = counted(self.begun_before_capture, "connection");
            defects.push(format!("begins in the middle of {connections} (no handshake)"));
        }
        if self.without_acks > 0 {
            defects.push(format!("ACKs missing in {}", counted(self.without_acks, "connection")));
        }
        if self.clock_steps > 0 {
            defects.push(format!("clock set back {}", counted(self.clock_steps, "time")));
        }
        defects
    }
}

/// One line: what is missing, and what that means for the report. Before it, which connections were
/// followed, if not all.
impl fmt::Display for CaptureQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(followed) = &self.followed {
            write!(f, "{followed} ")?;
        }
        f.write_str("Capture: ")?;
        if let Some(unread) = self.unread() {
            write!(f, "{unread}; in what was read, ")?;
        }
        if self.connections == 0 {
            return match self.quic_connections {
                0 => f.write_str("no TCP connection."),
                quic => {
                    let quic = counted(quic, "QUIC connection");
                    write!(f, "no TCP connection; {quic} (HTTP/3), not analysed.")
                }
            };
        }
        let defects = self.defects();
        match defects.is_empty() {
            true => f.write_str("both directions, no packets missing")?,
            false => f.write_str(&defects.join("; "))?,
        }
        if self.cut_packets > 0 {
            write!(f, "; {} cut", counted(self.cut_packets, "packet"))?;
        }
        if self.flow_control_unseen > 0 {
            let connections = counted(self.flow_control_unseen, "connection");
            write!(
                f,
                "; HTTP/2 flow control not judged in {connections} ({})",
                self.to_see_flow_control()
            )?;
        }
        if self.oversized_packets > 0 {
            let packets = counted(self.oversized_packets, "packet");
            write!(f, "; {packets} larger than a segment (offloads)")?;
        }
        if self.limited_connections > 0 {
            let (limited, all) = (grouped(self.limited_connections), grouped(self.connections));
            write!(f, "; lower confidence in {limited} of {all} connections")?;
        }
        f.write_str(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_is_missing_and_what_that_means() {
        let whole = CaptureQuality { connections: 3, ..CaptureQuality::default() };
        let missing = CaptureQuality {
            missing_packets: 1_200,
            missing_bytes: 1,
            connections_with_missing_packets: 2,
            ..whole.clone()
        };
        for (quality, line) in [
            (CaptureQuality::default(), "no TCP connection."),
            (
                CaptureQuality { quic_connections: 2, ..CaptureQuality::default() },
                "no TCP connection; 2 QUIC connections (HTTP/3), not analysed.",
            ),
            (whole.clone(), "both directions, no packets missing."),
            (
                CaptureQuality { cut_off_files: 1, ..whole.clone() },
                "1 file ends early (see the warning below); in what was read, both directions, no \
                 packets missing.",
            ),
            (
                CaptureQuality {
                    cut_off_files: 2,
                    damaged_files: 1,
                    unread_files: 1,
                    ..missing.clone()
                },
                "2 files end early, 1 file is damaged, 1 file could not be read (see the warnings \
                 below); in what was read, 1,200 packets delivered but not captured (1 byte in 2 \
                 connections).",
            ),
            (
                CaptureQuality { damaged_files: 1, ..CaptureQuality::default() },
                "1 file is damaged (see the warning below); in what was read, no TCP connection.",
            ),
            (
                CaptureQuality { cut_packets: 7, ..whole.clone() },
                "both directions, no packets missing; 7 packets cut.",
            ),
            (
                missing.clone(),
                "1,200 packets delivered but not captured (1 byte in 2 connections).",
            ),
            (
                CaptureQuality {
                    one_direction_only: 1,
                    without_acks: 2,
                    clock_steps: 2,
                    cut_packets: 1,
                    oversized_packets: 4,
                    limited_connections: 3,
                    ..missing
                },
                "1,200 packets delivered but not captured (1 byte in 2 connections); one direction \
                 only in 1 connection; ACKs missing in 2 connections; clock set back 2 times; 1 \
                 packet cut; 4 packets larger than a segment (offloads); lower confidence in 3 of \
                 3 connections.",
            ),
        ] {
            assert_eq!(quality.to_string(), format!("Capture: {line}"));
        }
    }
}
