//! Who may open a connection by a SYN cookie: properties of a listener without room. What the connection then is, the
//! scripts in `scripts/syn_cookies` show.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{net::SocketAddr, time::Duration};

use ackwise_tcp::{
    Config, Endpoint, Flags, Instant, Options, Policies, Segment, SeqNumber, State, Timestamps,
    WindowShift,
    driver::{CookieSecret, ListenOutcome, Listener, SynCookies},
    policy::Offer,
    wire::{OptionList, Packet},
};
use proptest::prelude::*;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

const CLIENT: [u8; 4] = [192, 0, 2, 1];
const SERVER: [u8; 4] = [198, 51, 100, 2];
const CONFIG: Config = Config::new(Policies { offer: Offer::ALL, ..Policies::RFC });

fn packet(source: SocketAddr, destination: SocketAddr, segment: Segment) -> Packet<'static> {
    Packet { source, destination, segment, options: OptionList::new(&[]), payload: &[] }
}

fn from_client(segment: Segment) -> Packet<'static> {
    packet((CLIENT, 40_000).into(), (SERVER, 80).into(), segment)
}

/// One with room for one handshake, which has begun.
fn full_listener(secret: u8) -> Listener<()> {
    let cookies = SynCookies::new(CookieSecret::new([secret; 16]), Offer::ALL);
    let mut listener = Listener::new(1).with_cookies(cookies);
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let other = packet((CLIENT, 1).into(), (SERVER, 80).into(), syn);
    assert_eq!(listener.handle_packet(&other, Instant::EPOCH), ListenOutcome::Open);
    listener
}

/// Answers `syn`; returns the SYN-ACK.
fn answered(listener: &mut Listener<()>, syn: Segment, now: Instant) -> Segment {
    match listener.handle_packet(&from_client(syn), now) {
        ListenOutcome::Answer(cookie) => {
            cookie.syn_ack(Endpoint::listen(CONFIG, cookie.initial_sequence()), now)
        }
        outcome => panic!("{outcome:?}"),
    }
}

/// What the client answers.
fn ack_of(syn_ack: &Segment) -> Segment {
    let timestamps = syn_ack
        .options
        .timestamps
        .map(|clock| Timestamps { value: clock.echo.wrapping_add(80), echo: clock.value });
    Segment {
        seq: syn_ack.ack.unwrap(),
        ack: Some(syn_ack.seq + 1),
        window: 500,
        options: Options { timestamps, ..Options::NONE },
        ..Segment::default()
    }
}

fn opens(listener: &mut Listener<()>, packet: &Packet<'_>, now: Instant) -> bool {
    matches!(listener.handle_packet(packet, now), ListenOutcome::Resume(_))
}

fn seconds(seconds: f64) -> Instant {
    Instant::EPOCH + Duration::from_secs_f64(seconds)
}

prop_compose! {
    fn any_syn()(
        seq: u32,
        mss in proptest::option::of(0_u16..),
        shift in proptest::option::of(0_u8..=14),
        sack_permitted: bool,
        clock in proptest::option::of(0_u32..),
    ) -> Segment {
        let options = Options {
            mss,
            window_scale: shift.map(WindowShift::new),
            sack_permitted,
            timestamps: clock.map(|value| Timestamps { value, echo: 0 }),
            ..Options::NONE
        };
        Segment { seq: SeqNumber(seq), flags: Flags::SYN, window: 8_000, options, ..Segment::default() }
    }
}

proptest! {
    /// Beside an endpoint that has kept the SYN.
    #[test]
    fn a_cookie_opens_the_connection_that_the_syn_ack_has_agreed_to(
        syn in any_syn(),
        at in 0.0..1e7_f64,
        later in 0.0..60.0_f64,
    ) {
        let (now, back) = (seconds(at), seconds(at + later));
        let mut listener = full_listener(1);
        let syn_ack = answered(&mut listener, syn, now);
        let ack = ack_of(&syn_ack);
        let ListenOutcome::Resume(cookie) = listener.handle_packet(&from_client(ack), back) else {
            panic!("{ack:?} was not taken");
        };
        let mut resumed = Endpoint::listen(CONFIG, cookie.initial_sequence());
        cookie.resume(&mut resumed, back);
        let _ = resumed.handle_segment(&ack, back);

        let stamped = syn.options.timestamps.is_some();
        let options = Options {
            window_scale: syn.options.window_scale.filter(|_| stamped),
            sack_permitted: syn.options.sack_permitted && stamped,
            ..syn.options
        };
        let mut kept = Endpoint::listen(CONFIG, cookie.initial_sequence());
        let _ = kept.handle_segment(&Segment { options, ..syn }, now);
        let mut expected = kept.poll_transmit(now).unwrap().segment;
        if let (Some(clock), Some(cookie)) =
            (&mut expected.options.timestamps, syn_ack.options.timestamps)
        {
            let early = clock.value.wrapping_sub(cookie.value);
            prop_assert!(early < 32, "{early} ms");
            clock.value = cookie.value;
        }
        prop_assert_eq!(syn_ack, expected);
        let _ = kept.handle_segment(&ack, back);
        prop_assert_eq!(resumed.state(), State::Established);
        prop_assert_eq!(resumed.negotiated(), kept.negotiated());
        prop_assert_eq!(resumed.peer_window(), kept.peer_window());
        prop_assert!(resumed.segment_size() <= kept.segment_size());
        // Of the sizes between 536 and 1460, no step is larger.
        prop_assert!(resumed.segment_size() + 684 > kept.segment_size());
    }

    #[test]
    fn a_cookie_is_valid_for_one_to_two_minutes(at in 0.0..1e7_f64, later in 0.0..300.0_f64) {
        let mut listener = full_listener(1);
        let syn = Segment { seq: SeqNumber(7), flags: Flags::SYN, ..Segment::default() };
        let ack = from_client(ack_of(&answered(&mut listener, syn, seconds(at))));
        let valid = opens(&mut listener, &ack, seconds(at + later));
        prop_assert!(valid || later > 60.0);
        prop_assert!(!valid || later < 120.0);
    }

    /// Even if cookies are still issued: the counter of minutes has five bits.
    #[test]
    fn an_old_cookie_stays_invalid(at in 0.0..1e6_f64, minutes in 2_u32..200) {
        let mut listener = full_listener(1);
        let syn = Segment { seq: SeqNumber(7), flags: Flags::SYN, ..Segment::default() };
        let ack = from_client(ack_of(&answered(&mut listener, syn, seconds(at))));
        let later = seconds(at) + Duration::from_secs(60) * minutes;
        let _ = answered(&mut listener, Segment { seq: SeqNumber(9), ..syn }, later);
        prop_assert!(!opens(&mut listener, &ack, later));
    }

    #[test]
    fn a_cookie_is_valid_for_its_connection_only(
        syn in any_syn(),
        wrong in 1_u32..,
        byte in 1_u8..,
        port in 1_u16..,
    ) {
        let mut listener = full_listener(1);
        let now = seconds(100.0);
        let segment = ack_of(&answered(&mut listener, syn, now));
        let Packet { source, destination, .. } = from_client(segment);
        let [first, rest @ ..] = CLIENT;
        let moved = [first ^ byte, rest[0], rest[1], rest[2]];
        let ack = segment.ack.map(|ack| ack + wrong);
        for forged in [
            packet((moved, source.port()).into(), destination, segment),
            packet((CLIENT, source.port() ^ port).into(), destination, segment),
            packet(source, (moved, 80).into(), segment),
            packet(source, (SERVER, 80 ^ port).into(), segment),
            packet(destination, source, segment),
            from_client(Segment { seq: segment.seq + wrong, ..segment }),
            from_client(Segment { ack, ..segment }),
            from_client(Segment { ack: segment.ack.map(|ack| ack + 1), ..segment }),
            from_client(Segment { flags: Flags::SYN, ..segment }),
        ] {
            let outcome = listener.handle_packet(&forged, now);
            prop_assert!(matches!(outcome, ListenOutcome::Reset(_)), "{forged:?}: {outcome:?}");
        }
        let mut other = full_listener(2);
        let _ = answered(&mut other, syn, now);
        prop_assert!(!opens(&mut other, &from_client(segment), now), "another secret");
        prop_assert!(opens(&mut listener, &from_client(segment), now), "the right one");
    }
}

/// 16 of 2^32 numbers are valid, so of two million guesses 0.008 on average.
#[test]
fn a_guessed_ack_opens_nothing() {
    let mut listener = full_listener(1);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let now = seconds(100.0);
    let syn = Segment { seq: SeqNumber(7), flags: Flags::SYN, ..Segment::default() };
    let _ = answered(&mut listener, syn, now);
    for guess in 0..2_000_000 {
        // Half of them are for an exchange whose cookie an attacker knows to have been sent.
        let seq = if guess % 2 == 0 { SeqNumber(8) } else { SeqNumber(random.next_u32()) };
        let ack = Some(SeqNumber(random.next_u32()));
        let ack = from_client(Segment { seq, ack, ..Segment::default() });
        let outcome = listener.handle_packet(&ack, now);
        assert!(matches!(outcome, ListenOutcome::Reset(_)), "guess {guess}: {ack:?}");
    }
}

#[test]
fn without_a_cookie_issued_lately_none_is_looked_for() {
    let now = seconds(100.0);
    let syn = Segment { seq: SeqNumber(7), flags: Flags::SYN, ..Segment::default() };
    let mut issued = full_listener(1);
    let ack = from_client(ack_of(&answered(&mut issued, syn, now)));
    let mut silent = full_listener(1);
    assert!(!opens(&mut silent, &ack, now), "the same secret, but it has sent none");
    assert!(opens(&mut issued, &ack, now));
}

#[test]
fn a_secret_is_not_printed() {
    let listener = full_listener(77);
    assert!(!format!("{listener:?}").contains("77"));
}
