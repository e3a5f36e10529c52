//! Protocols that are known by their beginning, and what looks like them.

use std::{env, fmt::Write as _, fs, path::Path};

use ackwise_capture::conversation::{Event, ExchangeReader, Judged, PROTOCOLS, Protocol};
use ackwise_cause::Direction::{self, ToClient, ToServer};
use proptest::prelude::*;

use crate::wire::{WHOLE, hex, play, script};

/// First segments of real programs (Debian 12), in the order in which they were sent; `c` is the client's.
const BEGINNINGS: &[(&str, &[(char, &str)])] = &[
    (
        "mysql",
        &[
            (
                's',
                "640000000a352e352e352d31302e31312e31392d4d6172696144422d302b6465623132753100040000005f7b6b2a2d",
            ),
            (
                'c',
                "cf0000018ca2bf000000001021000000000000000000000000000000000000001d00000075001486ebbbeb0221ef",
            ),
        ],
    ),
    ("mqtt", &[('c', "100c00044d5154540402003c0000"), ('s', "20020000")]),
    (
        "ssh",
        &[
            (
                'c',
                "5353482d322e302d4f70656e5353485f392e3270312044656269616e2d322b64656231327531300d0a",
            ),
            (
                's',
                "5353482d322e302d4f70656e5353485f392e3270312044656269616e2d322b64656231327531300d0a",
            ),
        ],
    ),
    (
        "ldap",
        &[
            ('c', "301f020101601a020103040d636e3d61646d696e2c64633d788006736563726574"),
            ('s', "300c02010161070a010004000400"),
        ],
    ),
    (
        "resp",
        &[('c', "2a330d0a24330d0a7365740d0a24310d0a610d0a24310d0a620d0a"), ('s', "2b4f4b0d0a")],
    ),
    (
        "ftp",
        &[
            ('s', "323230202876734654506420332e302e33290d0a"),
            ('c', "5553455220616e6f6e796d6f75730d0a"),
        ],
    ),
    ("smtp", &[('s', "32323020736d74702d73696e6b2045534d54500d0a"), ('c', "48454c4f20766d0d0a")]),
    (
        "mongodb",
        &[(
            'c',
            "4a01000067458b6b00000000dd0700000000000000350100001069736d617374657200010000000868656c6c6f4f6b",
        )],
    ),
    ("amqp", &[('c', "414d515000000901")]),
    ("memcached", &[('c', "76657273696f6e0d0a"), ('s', "56455253494f4e20312e362e31380d0a")]),
    (
        "imap",
        &[
            (
                's',
                "2a204f4b205b4341504142494c49545920494d41503472657631205341534c2d4952204c4f47494e5d0d0a",
            ),
            ('c', "6120434150414249_4c4954590d0a"),
        ],
    ),
];

/// What a connection speaks that begins so, each segment cut into pieces of `size` bytes.
fn spoken(segments: &[(Direction, Vec<u8>)], size: usize) -> Protocol {
    let mut reader = ExchangeReader::new();
    let (mut ends, mut spoken) = ([0_u64; 2], Protocol::Opaque);
    for (direction, bytes) in segments {
        for piece in bytes.chunks(size) {
            let end = &mut ends[*direction as usize];
            reader.handle_data(*direction, *end, u32::try_from(piece.len()).unwrap(), piece);
            *end += piece.len() as u64;
            while let Some(event) = reader.poll_event() {
                if let Event::Protocol(protocol) = event {
                    spoken = protocol;
                }
            }
        }
    }
    spoken
}

fn segments(text: &[(char, &str)]) -> Vec<(Direction, Vec<u8>)> {
    let direction = |who| if who == 'c' { ToServer } else { ToClient };
    text.iter().map(|(who, bytes)| (direction(*who), hex(&bytes.replace('_', "")))).collect()
}

#[test]
fn real_programs_are_recognised() {
    for (name, text) in BEGINNINGS {
        assert_eq!(spoken(&segments(text), 1_448).name(), *name);
        // A server's answer is looked at when it begins.
        if *name != "memcached" {
            for size in [1, 2, 7, 24] {
                assert_eq!(spoken(&segments(text), size).name(), *name, "pieces of {size} bytes");
            }
        }
    }
}

#[test]
fn behind_the_header_of_a_balancer_it_is_the_same() {
    let header = b"PROXY TCP4 192.0.2.1 198.51.100.1 49152 3306\r\n".to_vec();
    for (name, text) in BEGINNINGS {
        let mut segments = segments(text);
        segments.insert(0, (ToServer, header.clone()));
        assert_eq!(spoken(&segments, 1_448).name(), *name);
    }
}

/// One fact of the magic is missing, or the other end says something else.
#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn look_alikes_stay_opaque() {
    let greeting = BEGINNINGS[0].1[0].1;
    for (what, text) in [
        ("a greeting of MySQL alone", &[('s', greeting), ('c', "00010203")][..]),
        ("a login of MySQL alone", &[('c', BEGINNINGS[0].1[1].1), ('s', "00010203")]),
        ("protocol 9", &[('s', "4a00000009352e372e3333"), ('c', BEGINNINGS[0].1[1].1)]),
        ("an MQTT of version 9", &[('c', "100c00044d5154540902003c0000")]),
        ("a CONNECT that is too short", &[('c', "100b00044d5154540402003c00")]),
        ("SSH 1.5", &[('c', "5353482d312e352d4f70656e5353480d0a")]),
        ("LDAP 2", &[('c', "301f020101601a020102040d636e3d61646d696e2c64633d788006736563726574")]),
        (
            "SNMP over TCP",
            &[(
                'c',
                "302602010104067075626c6963a019020101020100020100300e300c06082b06010201010100",
            )],
        ),
        ("USER without a greeting", &[('c', "5553455220610d0a"), ('s', "333331206f6b0d0a")]),
        ("NNTP", &[('s', "323030206e6577730d0a"), ('c', "4d4f444520524541444552_0d0a")]),
        (
            "a message of MongoDB with a response",
            &[('c', "4a01000067458b6b01000000dd07000000000000003501000010")],
        ),
        (
            "a length beyond MongoDB's",
            &[('c', "4a01000f67458b6b00000000dd07000000000000003501000010")],
        ),
        ("AMQP 0-8", &[('c', "414d515001010800")]),
        ("a line of words", &[('c', "676574206b65790d0a"), ('s', "48656c6c6f0d0a")]),
        ("POP3", &[('s', "2b4f4b20504f50330d0a"), ('c', "555345522061_0d0a")]),
        (
            "TDS",
            &[(
                'c',
                "1201002f0000010000001a00060100200001020021000103002200040400260001ff09000000000000000000000000",
            )],
        ),
        ("Cassandra", &[('c', "040000000500000000"), ('s', "8400000006000000")]),
        (
            "Kafka",
            &[('c', "00000023001200030000000100076b61666b612d70"), ('s', "0000010c00000001")],
        ),
        ("BitTorrent", &[('c', "13426974546f7272656e742070726f746f636f6c0000000000100005")]),
        ("RDP", &[('c', "030000130ee000000000000100080003000000")]),
        ("SMB 2", &[('c', "000000d4fe534d4240000000")]),
        ("RTMP", &[('c', "0300000000000000006f2a31")]),
        (
            "IRC",
            &[
                ('c', "4e49434b20610d0a55534552206120302a203a61_0d0a"),
                ('s', "3a782030303120610d0a"),
            ],
        ),
        ("XMPP", &[('c', "3c3f786d6c2076657273696f6e3d27312e30273f3e"), ('s', "3c3f786d6c")]),
        ("NATS", &[('s', "494e464f207b7d0d0a"), ('c', "434f4e4e454354207b7d0d0a")]),
        ("DNS over TCP", &[('c', "002d1c4b01000001000000000000")]),
        ("9P", &[('c', "1300000064ffff0020000008003950323030302e4c")]),
        ("VNC", &[('s', "524642203030332e3030380a"), ('c', "524642203030332e3030380a")]),
        ("rsync", &[('c', "405253594e43443a2033312e300a"), ('s', "405253594e43443a2033312e300a")]),
        ("git", &[('c', "303033306769742d75706c6f61642d7061636b202f61")]),
        ("Diameter", &[('c', "010000c8800001010000000000000001")]),
        (
            "IMAP without capabilities",
            &[('s', "2a204f4b2068656c6c6f0d0a"), ('c', "61204c4f47494e_0d0a")],
        ),
    ] {
        let spoken = spoken(&segments(text), 1_448);
        // NATS: a CONNECT of HTTP has a target, which may be anything.
        let expected = if what == "NATS" { Protocol::Http1 } else { Protocol::Opaque };
        assert_eq!(spoken, expected, "{what}");
    }
}

#[test]
fn a_capture_that_begins_later_shows_no_magic() {
    for (name, text) in BEGINNINGS.iter().filter(|it| it.0 != "resp") {
        let mut reader = ExchangeReader::new();
        reader.handle_gap(ToServer, 0, 100);
        let mut spoken = Protocol::Opaque;
        for (direction, bytes) in segments(text) {
            reader.handle_data(direction, 100, u32::try_from(bytes.len()).unwrap(), &bytes);
        }
        while let Some(event) = reader.poll_event() {
            if let Event::Protocol(protocol) = event {
                spoken = protocol;
            }
        }
        assert_eq!(spoken, Protocol::Opaque, "{name}");
    }
}

#[test]
fn turns_of_a_known_protocol_are_exchanges() {
    let told = play(
        &script(
            r#"
            s hex 4a000000 0a 382e302e333600 0102030405060708
            c hex 24000001 8ca2bf00 00000010 21 0000000000000000000000000000000000000000000000 726f6f74
            s hex 0700000200000002000000
            c hex 0500000003 73656c31
            s hex 01000001 01
            s hex 01000002 02
            c hex 0100000001
            c end
            s end
            "#,
        ),
        WHOLE,
    );
    assert_eq!(
        told.lines().filter(|it| !it.contains("asks")).collect::<Vec<_>>(),
        [
            "MySQL",
            "0 begins ~0",
            "0 is asked ~40",
            "0 is being answered ~20",
            "0 is answered ~31",
            "1 begins ~40",
            "1 is asked ~49",
            "1 is being answered ~31",
            "1 is answered ~41",
        ],
        "QUIT has no answer: {told}"
    );
}

/// What comes behind a request for encryption is TLS, whether the server says something in between or not.
#[test]
fn encryption_begins_behind_a_request_for_it() {
    let hello = "c hex 16030100fa 01 0000f6 0303";
    for (begins, asks) in [
        (
            "s hex 4a000000 0a 382e302e333600 0102030405060708",
            "c hex 20000001 8caabf00 00000010 21 0000000000000000000000000000000000000000000000",
        ),
        (
            r#"s "220 a\r\n""#,
            r#"
            c "EHLO b\r\n"
            s "250 STARTTLS\r\n"
            c "STARTTLS\r\n"
            s "220 go\r\n"
            "#,
        ),
    ] {
        let told = play(&script(&format!("{begins}\n{asks}\n{hello}")), WHOLE);
        assert!(told.ends_with("TLS"), "{told}");
        assert!(!told.contains("0 begins") || told.contains("0 is answered"), "{told}");
    }
}

proptest! {
    /// Of random bytes, at most one of 2^32 first segments has a magic of four bytes.
    #[test]
    fn random_bytes_are_nothing(
        client in prop::collection::vec(any::<u8>(), 1..200),
        server in prop::collection::vec(any::<u8>(), 1..200),
        first in any::<bool>(),
    ) {
        let mut segments = [(ToServer, client), (ToClient, server)];
        if first {
            segments.reverse();
        }
        let spoken = spoken(&segments, 1_448);
        let old = [Protocol::Http1, Protocol::Http2, Protocol::Tls, Protocol::Resp];
        prop_assert!(spoken == Protocol::Opaque || old.contains(&spoken), "{spoken:?}");
    }

    /// A real beginning with a byte changed is that protocol, or none.
    #[test]
    fn a_damaged_beginning_is_no_other_protocol(
        which in 0..BEGINNINGS.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (name, text) = BEGINNINGS[which];
        let mut segments = segments(text);
        let at = at.index(segments[0].1.len());
        segments[0].1[at] = byte;
        let spoken = spoken(&segments, 1_448);
        prop_assert!(spoken == Protocol::Opaque || spoken.name() == name, "{spoken:?}");
    }
}

/// The table of `docs/explain/protocols.md` is generated: `ACKWISE_UPDATE=1 cargo test -p ackwise-capture --test conversation`.
#[test]
fn the_page_of_the_documentation_has_each_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explain/protocols.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the table has a beginning");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let expected = format!("{before}{BEGIN}\n\n{}\n{END}{after}", table());
    if env::var_os("ACKWISE_UPDATE").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(
            page == expected,
            "docs/explain/protocols.md is out of date: run this test with ACKWISE_UPDATE=1"
        );
    }
}

fn table() -> String {
    let mut table =
        "| protocol | in JSON | recognised by | judged |\n| --- | --- | --- | --- |\n".to_owned();
    for row in &PROTOCOLS {
        let judged = match row.judged {
            Judged::NotDivided(tunnel) => format!(
                "not divided: {}",
                tunnel.reason().unwrap_or("both ends may send at any time")
            ),
            judged => judged.words().to_owned(),
        };
        let _ = writeln!(table, "| {} | `{}` | {} | {judged} |", row.title, row.name, row.sign);
    }
    table
}

const BEGIN: &str = "<!-- protocols: written by `ACKWISE_UPDATE=1 cargo test -p ackwise-capture --test conversation` -->";
const END: &str = "<!-- end of protocols -->";
