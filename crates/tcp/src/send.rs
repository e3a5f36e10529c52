//! The send side of a connection: what was sent, what became of it, and what may be sent now.
//!
//! `sender` puts the parts together, and carries out what they decide. Each of them owns its state:
//!
//! | part | one idea |
//! | --- | --- |
//! | `sequence` | the send sequence space |
//! | `round_trips` | what an ACK tells of the round trip |
//! | `control` | the congestion control, pacing, and what some policies estimate |
//! | `recovery` | what is sent again (RFC 5681, 6582, 6675) |
//! | `timers` | the timers, of which the retransmission timer is one |
//! | `in_flight` | the segments that are out, and what is known of the path |
//!
//! They consist of smaller ones:
//!
//! | module | one idea |
//! | --- | --- |
//! | `cwnd_use` | how much of the congestion window is used |
//! | `paced` | segments that leave at a rate |
//! | `estimators`, `packet_count`, `ack_spacing` | what some policies estimate: packets in a round trip, bandwidth |
//! | `validation` | whether the window is used (RFC 7661) |
//! | `phase`, `episode`, `prr` | where a recovery stands, and what is remembered of it (RFC 9937) |
//! | `undo`, `frto` | whether a recovery was for nothing (RFC 3708, 3522, 5682) |
//! | `flight`, `sent`, `latest`, `news` | the segments that are out, and what an ACK tells of them |
//! | `rack`, `probe` | losses found by time, and probes for the tail of a flight (RFC 8985) |
//! | `burst` | segments that leave together |
//!
//! Decisions on several of them:
//!
//! | module | one idea |
//! | --- | --- |
//! | `next_piece`, `piece` | what may be sent now, and if nothing, why |
//! | `tso_deferral` | which segments wait for others |
//! | `scoreboard`, `reduction` | what is lost, how much is in the pipe, and how far the window comes down |
//! | `sack`, `spurious`, `bbr_samples` | what an ACK tells by its SACK blocks, of a recovery, and of the path |
//! | `control_block` | with which window a connection begins, and what it leaves to others (RFC 9040) |

mod ack_spacing;
mod bbr_samples;
mod burst;
mod control;
mod control_block;
mod cwnd_use;
mod episode;
mod estimators;
mod flight;
mod frto;
mod in_flight;
mod latest;
mod news;
mod next_piece;
mod paced;
mod packet_count;
mod phase;
mod piece;
mod probe;
mod prr;
mod rack;
mod recovery;
mod reduction;
mod round_trips;
mod sack;
mod scoreboard;
mod sender;
mod sent;
mod sequence;
mod spurious;
mod timers;
mod tso_deferral;
mod undo;
mod validation;

pub(crate) use self::{
    phase::Phase,
    piece::Piece,
    sender::{AfterTimeout, Effects, Sender},
    sequence::SendSequence,
    sequence::Una,
};
