//! Nothing of what was said is in a stripped capture, nor who said it.

use crate::{
    recording::{CLIENT, GOOD, Path, SERVER, capture},
    script::hex,
    strip,
};

/// Fails if `secret` is in the file, as it is or in any case of letters.
#[track_caller]
fn keeps(file: &[u8], secret: &[u8], path: Path) {
    let found = file.windows(secret.len()).any(|bytes| bytes.eq_ignore_ascii_case(secret));
    assert!(!found, "{} is in the capture of {path:?}", secret.escape_ascii());
}

/// Strips the script's capture, in segments of any size and with losses, and looks for secrets.
#[track_caller]
fn keeps_all(text: &str, secrets: &[&[u8]]) {
    for mss in [1448, 400, 100, 33, 7] {
        for (loses, misses) in [(0, 0), (5, 0), (0, 6), (3, 7)] {
            let path = Path { mss, loses, misses, ..GOOD };
            let whole = capture(text, path);
            let file = strip(&whole);
            assert!(file.len() > 500, "there must be a capture to look into");
            for secret in secrets {
                let is_there = whole.windows(secret.len()).any(|bytes| bytes == *secret);
                assert!(is_there || mss < 1448 || misses > 0, "{}", secret.escape_ascii());
                keeps(&file, secret, path);
            }
            for address in [CLIENT, SERVER] {
                let (host, _) = address.split_once(':').unwrap();
                let bytes: Vec<u8> = host.split('.').map(|it| it.parse().unwrap()).collect();
                keeps(&file, &bytes, path);
                keeps(&file, &[&[2, 0][..], &bytes].concat(), path);
            }
        }
    }
}

#[test]
fn of_http1() {
    keeps_all(
        r#"
        c "GET /Privat?token=Geheim HTTP/1.1\r\nHost: bank.example\r\nCookie: id=kennung4711\r\n\r\n"
        c "STEAL /Beute HTTP/1.1\r\nContent-Length: 5\r\nUpgrade: Geheim\r\n\r\nBeute"
        s "HTTP/1.1 200 Vertraulich\r\nContent-Length: 20\r\nSet-Cookie: k=Schluessel\r\n\r\n"
        s "Geheimes im Inhalt.."
        s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, Geheim\r\nConnection: Geheim\r\n\r\n"
        s "Streng Geheim"
        c end
        "#,
        &[
            b"Privat",
            b"Geheim",
            b"bank.example",
            b"kennung4711",
            b"Cookie",
            b"STEAL",
            b"Beute",
            b"Vertraulich",
            b"Schluessel",
            b"Streng",
        ],
    );
}

#[test]
fn of_redis() {
    keeps_all(
        r#"
        c "*3\r\n$3\r\nSET\r\n$9\r\nPrivatKey\r\n$12\r\nGeheimerWert\r\n*2\r\n$4\r\nAUTH\r\n$9\r\nKennwort1\r\n"
        s "+Vertraulich\r\n-ERR Schluessel\r\n"
        c "*2\r\n$10\r\nSECRETWORD\r\n$1\r\na\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nKundeNr\r\n"
        s "*2\r\n:471147114711\r\n$8\r\nTagebuch\r\n,3.14159265\r\n"
        c "*2\r\n$9\r\nSUBSCRIBE\r\n$9\r\nPostfachX\r\n"
        s "*3\r\n$9\r\nsubscribe\r\n$9\r\nPostfachX\r\n:1\r\n"
        c "BEUTE zehn\r\n"
        c end
        "#,
        &[
            b"PrivatKey",
            b"GeheimerWert",
            b"Kennwort1",
            b"Vertraulich",
            b"Schluessel",
            b"SECRETWORD",
            b"SETINFO",
            b"KundeNr",
            b"471147114711",
            b"Tagebuch",
            b"3.14159265",
            b"PostfachX",
            b"BEUTE",
        ],
    );
}

#[test]
fn of_a_balancers_header() {
    keeps_all(
        r#"
        c "PROXY TCP4 192.0.2.171 198.51.100.200 49111 44388\r\n*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        "#,
        &[b"192.0.2.171", b"198.51.100.200", b"49111", b"44388"],
    );
    keeps_all(
        r"
        c hex 0d0a0d0a000d0a515549540a 21 11 000c c00002abc63364c8bfd7ad64
        c tls 22:100
        s tls 22:1000
        ",
        &[&[192, 0, 2, 171], &[198, 51, 100, 200], &[0xbf, 0xd7, 0xad, 0x64]],
    );
}

#[test]
fn of_postgresql() {
    let text = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (user, query, row) =
        (text("user\0Kontoinhaber\0\0"), text("SELECT Geheim\0"), text("Kennwort4711"));
    let script = format!(
        "
        c hex 0000001b 00030000 {user}
        s pg R:4 S:9 Z:1
        c hex 51 00000012 {query}
        s hex 44 00000010 {row}
        s pg C:5 Z:1
        c hex 50 00000012 {query} 53 00000004
        s hex 45 00000010 {row} 5a 00000005 49
        c end
        "
    );
    keeps_all(&script, &[b"Kontoinhaber", b"SELECT", b"Geheim", b"Kennwort4711"]);
}

#[test]
fn of_chunks_pipelines_and_what_breaks() {
    keeps_all(
        r#"
        c "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;Erweiterung=1\r\nInner\r\n"
        c "0\r\nAnhang: Wert\r\n\r\nGET /Zweite HTTP/1.1\r\nX: Dritte\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nAntwort kaputt\r\n"
        s "HTTP/1.1 20X Kaputt\r\nKopf Zeile\r\n\r\nRest"
        c "GET /ohne-Ende HTTP/1.1\r\nAngefangen: Halb"
        "#,
        &[
            b"Erweiterung",
            b"Inner",
            b"Anhang",
            b"Wert",
            b"Zweite",
            b"Dritte",
            b"Antwort",
            b"kaputt",
            b"Kopf",
            b"Rest",
            b"ohne-Ende",
            b"Angefangen",
            b"Halb",
        ],
    );
}

#[test]
fn of_http2() {
    // Literals of a path, an authority and a cookie, priority, padding; then data and a debug text.
    keeps_all(
        "
        c h2 preface, settings 0003000000644a4b4c4d4e4f
        c h2 headers 1 45 0511121314828644072f4765686569410662616e6b2e6561626364ff
        c h2 headers 3 0 82864004506f7374045765727440, continuation 3 5 064b756368656e044b656b7365
        s h2 settings, headers 1 4 885808707269766174653d, data 1 1 400
        c hex 0000080600000000004142434445464748
        c hex 00000d0700000000000000000000000000 467265696c69
        s end
        ",
        &[
            b"JKLMNO",
            b"/Gehei",
            b"bank.e",
            b"Post",
            b"Wert",
            b"Kuchen",
            b"Kekse",
            b"private",
            &[0xaa; 5],
            b"ABCDEFGH",
            b"Freil",
        ],
    );
}

#[test]
fn of_tls() {
    let hello = client_hello(b"konto.bank.example");
    let certificate =
        [&hex("0b 000030")[..], b"CN=konto.bank.example, O=Bank, Inhaber Meier...."].concat();
    let record = |kind: u8, bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        let digits = [&[kind, 3, 3][..], &length, bytes].concat();
        digits.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let text = format!(
        "c hex {}\ns hex {}\nc tls 22:80 20:1 22:40\ns tls 20:1 22:40\n\
         c tls 23:300\ns tls 23:4000\n",
        record(22, &hello),
        record(22, &certificate),
    );
    keeps_all(
        &text,
        &[b"konto", b"bank.example", b"Inhaber", b"Meier", b"Zufall", b"Sitzung", &[0xaa; 5]],
    );
}

fn client_hello(name: &[u8]) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap();
    let server_name = [
        &[0, 0][..],
        &(length + 5).to_be_bytes(),
        &(length + 3).to_be_bytes(),
        &[0],
        &length.to_be_bytes(),
        name,
    ]
    .concat();
    let alpn = hex("0010 0005 0003 02 6832");
    let extensions = [server_name, alpn].concat();
    let body = [
        &[3, 3][..],
        b"Zufall, 32 bytes of it, and so.",
        &[7],
        b"Sitzung",
        &hex("0002 1301 0100"),
        &u16::try_from(extensions.len()).unwrap().to_be_bytes(),
        &extensions,
    ]
    .concat();
    let [.., high, middle, low] = body.len().to_be_bytes();
    [&[1, high, middle, low][..], &body].concat()
}

#[test]
fn of_other_protocols() {
    keeps_all(
        r#"
        s "220 Willkommen bei Bank\r\n"
        c "EHLO Meier\r\n"
        s "250 Guten Tag\r\n"
        c "Kennwort"
        c "GET mich nicht\r\n"
        s end
        "#,
        &[b"Willkommen", b"Meier", b"Guten", b"Kennwort", b"mich"],
    );
    // Of what protocols are known by, only that stays.
    keeps_all(
        r#"
        c "get Konto\r\n"
        s "VALUE Konto 0 4\r\nviel\r\nEND\r\n"
        c "set Konto 0 0 4 noreply\r\nmehr\r\n"
        "#,
        &[b"Konto", b"viel", b"mehr"],
    );
    keeps_all(
        r#"
        c hex 301f 020101 601a 020103 040d 636e3d4d656965722c64633d78 8006 476568656d
        s hex 300c02010161070a010004000400
        "#,
        &[b"Meier", b"Gehe"],
    );
}
