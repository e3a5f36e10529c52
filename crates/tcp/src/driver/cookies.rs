//! SYN cookies (RFC 4987, section 3.6): a listener without room answers SYNs and keeps nothing of them.
//!
//! What a half-open connection would hold is put into the SYN-ACK instead, and comes back with the client's ACK. The
//! initial sequence number is the sum of the SYN's sequence number, a hash of the addresses, and
//!
//! ```text
//! | minute | index of the MSS | hash of addresses, minute, index |
//! | 5 bits |      3 bits      |             24 bits              |
//! ```
//!
//! If both ends have timestamps, their low bits hold the rest, as in Linux (`net/ipv4/syncookies.c`,
//! `cookie_init_timestamp`), which has another bit for ECN; our TCP has no ECN.
//!
//! ```text
//! | milliseconds, rounded down | SACK permitted | window scale, 15 for none |
//! |          27 bits           |     1 bit      |          4 bits           |
//! ```
//!
//! Without timestamps, window scaling and SACK are lost. Always lost are what the MSS has beyond the next entry of
//! the table, who holds TIME-WAIT, data on the SYN, and the retransmission of the SYN-ACK.
//!
//! The sum is Linux's (`secure_tcp_syn_cookie`), with the layout of Bernstein, who invented it: Linux adds the index to
//! the hash, so that an ACK whose number is off by one is a valid cookie with another MSS. One in 2^28 random ACKs
//! is valid, for 8 indexes and 2 minutes.
//!
//! Not here: when cookies are used, which [`Listener`](super::Listener) decides, and randomness: the driver chooses
//! the [`CookieSecret`].

use core::{
    fmt,
    hash::{Hash, Hasher},
    time::Duration,
};

use siphasher::sip::SipHasher24;

use crate::{
    endpoint::Endpoint,
    policy::Offer,
    segment::{Flags, Options, Segment, Timestamps, WindowShift},
    seq::SeqNumber,
    units::{Instant, IpVersion},
    wire::Packet,
};

/// What nobody else may know: who does can open connections from addresses that are not theirs.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct CookieSecret([u8; 16]);

impl CookieSecret {
    /// A secret of random bytes.
    #[must_use]
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }
}

impl fmt::Debug for CookieSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieSecret(..)")
    }
}

/// Issues and checks the cookies of one listener.
#[derive(Clone, Debug)]
pub struct SynCookies {
    secret: CookieSecret,
    offer: Offer,
    /// When the last one was issued.
    issued: Option<Instant>,
}

impl SynCookies {
    /// For connections that offer `offer`: what they do not offer need not be remembered.
    #[must_use]
    pub const fn new(secret: CookieSecret, offer: Offer) -> Self {
        Self { secret, offer, issued: None }
    }

    /// A cookie for the SYN in `packet`.
    pub(super) fn issue(&mut self, packet: &Packet<'_>, now: Instant) -> Cookie {
        self.issued = Some(now);
        let (index, syn) = self.remembered(packet);
        let layers = self.layers(packet, minute(now), index);
        Cookie { iss: syn.seq + self.hash(packet, None) + layers, syn }
    }

    /// The cookie that `packet` returns, if it is one of ours, for these addresses, of this minute or the last.
    ///
    /// `None` without a look at it unless cookies were issued lately, as in Linux (`tcp_synq_no_recent_overflow`):
    /// otherwise, whoever sends stray ACKs could guess for ever.
    pub(super) fn check(&self, packet: &Packet<'_>, now: Instant) -> Option<Cookie> {
        let lately = self.issued.is_some_and(|issued| now.since(issued) < VALID);
        let Segment { seq, ack: Some(ack), flags, options, .. } = packet.segment else {
            return None;
        };
        if !lately || flags.syn || flags.rst {
            return None;
        }
        let (irs, iss) = (seq - 1, ack - 1);
        let layers = (iss - irs.0 - self.hash(packet, None)).0;
        let now = minute(now);
        let age = now.wrapping_sub(layers >> MINUTE_AT) % MINUTES_KNOWN;
        let index = layers >> INDEX_AT & INDEX_MASK;
        if age >= MINUTES_VALID || layers != self.layers(packet, now.wrapping_sub(age), index) {
            return None;
        }
        let mss = *SEGMENT_SIZES.get(index as usize)?;
        let options =
            options.timestamps.filter(|_| self.offer.timestamps).map_or(Options::NONE, |clock| {
                Options {
                    timestamps: Some(Timestamps { value: clock.value, echo: 0 }),
                    ..Encoded(clock.echo).options()
                }
            });
        let options = Options { mss: Some(mss), ..options };
        Some(Cookie {
            iss,
            syn: Segment { seq: irs, flags: Flags::SYN, options, ..Segment::default() },
        })
    }

    /// What a cookie can say of a SYN, with the index of its MSS.
    fn remembered(&self, packet: &Packet<'_>) -> (u32, Segment) {
        let Segment { seq, options, .. } = packet.segment;
        let Options { mss, window_scale, sack_permitted, timestamps, sack: _ } = options;
        let ip = if packet.source.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 };
        let mss = mss.unwrap_or_else(|| ip.default_mss());
        let not_larger = (0..).zip(SEGMENT_SIZES).take_while(|(_, size)| *size <= mss);
        let (index, mss) = not_larger.last().unwrap_or((0, SEGMENT_SIZES[0]));
        let stamped = timestamps.is_some() && self.offer.timestamps;
        let options = Options {
            mss: Some(mss),
            window_scale: window_scale.filter(|_| stamped),
            sack_permitted: sack_permitted && stamped,
            timestamps: timestamps.filter(|_| stamped),
            ..Options::NONE
        };
        (index, Segment { seq, flags: Flags::SYN, options, ..Segment::default() })
    }

    /// What is added to the SYN's sequence number and the hash of the addresses.
    fn layers(&self, packet: &Packet<'_>, minute: u32, index: u32) -> u32 {
        let hash = self.hash(packet, Some((minute, index)));
        minute << MINUTE_AT | index << INDEX_AT | hash & HASH_MASK
    }

    /// 32 bits that depend on the addresses, the secret, and minute and index, if there are any.
    fn hash(&self, packet: &Packet<'_>, of: Option<(u32, u32)>) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.secret.0);
        for end in [packet.source, packet.destination] {
            // Not an IPv6 address's flow label and scope, which may differ between the packets of a connection.
            (end.ip(), end.port()).hash(&mut hasher);
        }
        of.hash(&mut hasher);
        let hash = hasher.finish();
        u32::try_from(hash & u64::from(u32::MAX)).expect("32 bits are left")
    }
}

/// What is remembered of a SYN, by the client instead of us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cookie {
    iss: SeqNumber,
    syn: Segment,
}

impl Cookie {
    /// The initial sequence number of the SYN-ACK, and of the connection: that of the endpoint that the driver
    /// creates for it.
    #[must_use]
    pub const fn initial_sequence(&self) -> SeqNumber {
        self.iss
    }

    /// The SYN-ACK, which `endpoint` would send: a listening one with
    /// [`initial_sequence`](Self::initial_sequence).
    ///
    /// # Panics
    ///
    /// If `endpoint` is in another state.
    #[must_use]
    pub fn syn_ack(&self, mut endpoint: Endpoint, now: Instant) -> Segment {
        let _ = endpoint.handle_segment(&self.syn, now);
        let transmit = endpoint.poll_transmit(now).expect("a listener answers a SYN");
        let mut syn_ack = transmit.segment;
        if let Some(clock) = &mut syn_ack.options.timestamps {
            clock.value = Encoded::of(&self.syn.options).at_or_before(clock.value);
        }
        syn_ack
    }

    /// Brings `endpoint`, a listening one with [`initial_sequence`](Self::initial_sequence), to where it was when
    /// the SYN-ACK left. The segment that has brought the cookie is then handed to it as any other.
    pub fn resume(&self, endpoint: &mut Endpoint, now: Instant) {
        endpoint.resume(&self.syn, now);
    }
}

/// Options in the low bits of a timestamp; only these bits count.
#[derive(Clone, Copy)]
struct Encoded(u32);

impl Encoded {
    fn of(options: &Options) -> Self {
        let shift = options.window_scale.map_or(NO_SHIFT, |shift| u32::from(shift.get()));
        Self(shift | if options.sack_permitted { SACK } else { 0 })
    }

    fn options(self) -> Options {
        let shift =
            u8::try_from(self.0 & NO_SHIFT).ok().filter(|shift| u32::from(*shift) != NO_SHIFT);
        Options {
            window_scale: shift.map(WindowShift::new),
            sack_permitted: self.0 & SACK != 0,
            ..Options::NONE
        }
    }

    /// The last timestamp up to `clock` that has these bits: later segments must not have an earlier one.
    const fn at_or_before(self, clock: u32) -> u32 {
        clock.wrapping_sub(clock.wrapping_sub(self.0) & (SACK | NO_SHIFT))
    }
}

const fn minute(now: Instant) -> u32 {
    // 2^64 ns are fewer than 2^29 minutes.
    (now.as_nanos() / 60_000_000_000) as u32
}

/// What a cookie remembers of an MSS: the largest entry that does not exceed it.
///
/// Linux's values for IPv4 and IPv6 (`msstab` in `net/ipv4/syncookies.c` and `net/ipv6/syncookies.c`), and as the
/// smallest one the endpoint's own: Linux takes 536 for less than that.
const SEGMENT_SIZES: [u16; 8] = [64, 536, 1220, 1300, 1420, 1440, 1460, 8940];
const MINUTE_AT: u32 = 27;
const INDEX_AT: u32 = 24;
const INDEX_MASK: u32 = 0b111;
const HASH_MASK: u32 = (1 << INDEX_AT) - 1;
/// Five bits; the hash is of the whole number.
const MINUTES_KNOWN: u32 = 1 << 5;
/// Linux `MAX_SYNCOOKIE_AGE`: this minute's and the last one's, so at least one minute and less than two.
const MINUTES_VALID: u32 = 2;
/// Linux `TCP_SYNCOOKIE_VALID`: after this time without a cookie issued, none can be valid.
const VALID: Duration = Duration::from_secs(120);
/// Linux `TS_OPT_WSCALE_MASK`: no shift is 15.
const NO_SHIFT: u32 = 0xF;
/// Linux `TS_OPT_SACK`.
const SACK: u32 = 1 << 4;
