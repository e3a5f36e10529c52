use alloc::{format, string::String, vec};

use proptest::prelude::*;

use super::*;

/// All of a field.
#[derive(Clone, Debug, PartialEq)]
struct Text(String, String);

impl Field for Text {
    type Name = String;

    fn name_of(name: &[u8]) -> String {
        String::from_utf8_lossy(name).into_owned()
    }

    fn new(name: String, value: &[u8]) -> Self {
        Self(name, String::from_utf8_lossy(value).into_owned())
    }

    fn name(&self) -> String {
        self.0.clone()
    }

    fn missed() -> Self {
        Self(String::new(), String::new())
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn read(decoder: &mut Decoder<Text>, block: &[u8]) -> Result<Vec<String>, Broken> {
    let mut fields = Vec::new();
    decoder.decode(block, |Text(name, value)| fields.push(format!("{name}={value}")))?;
    Ok(fields)
}

/// RFC 7541, appendix C.4: three requests with Huffman code.
#[test]
fn the_requests_of_the_rfc() {
    let mut decoder = Decoder::new();
    for (bytes, last, size) in [
        ("828684418cf1e3c2e5f23a6ba0ab90f4ff", ":authority=www.example.com", 57),
        ("828684be5886a8eb10649cbf", "cache-control=no-cache", 110),
        ("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", "custom-key=custom-value", 164),
    ] {
        let fields = read(&mut decoder, &hex(bytes)).unwrap();
        assert_eq!(fields[0], ":method=GET");
        assert_eq!(fields.last().unwrap(), last);
        assert_eq!(decoder.size(), size);
    }
}

/// RFC 7541, appendix C.6: three responses with Huffman code in a table of 256 bytes, so that
/// entries are evicted.
#[test]
fn the_responses_of_the_rfc() {
    let mut decoder = Decoder::new();
    decoder.limit = 256;
    for (bytes, status, last, size) in [
        (
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff\
             6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            302,
            "location=https://www.example.com",
            222,
        ),
        ("4883640effc1c0bf", 307, "location=https://www.example.com", 222),
        (
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7\
             821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587\
             316065c003ed4ee5b1063d5007",
            200,
            "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            215,
        ),
    ] {
        let fields = read(&mut decoder, &hex(bytes)).unwrap();
        assert_eq!(fields[0], format!(":status={status}"));
        assert_eq!(fields.last().unwrap(), last);
        assert_eq!(decoder.size(), size);
    }
}

#[test]
fn after_a_miss_new_entries_are_known_and_old_ones_are_not() {
    let mut decoder = Decoder::new();
    decoder.miss();
    let fields = read(&mut decoder, &hex("82 44022f61 bf c0 be")).unwrap();
    assert_eq!(fields, [":method=GET", ":path=/a", "=", "=", ":path=/a"]);
    assert_eq!(read(&mut decoder, &hex("be bf")).unwrap(), [":path=/a", "="]);
}

#[test]
fn a_block_of_too_many_fields_is_read_no_further() {
    let mut decoder = Decoder::new();
    let mut block = vec![0x82; FIELDS_PER_BLOCK];
    assert_eq!(read(&mut decoder, &block).map(|it| it.len()), Ok(FIELDS_PER_BLOCK));
    block.push(0x84);
    assert_eq!(read(&mut decoder, &block), Err(Broken::TooLong));
}

#[test]
fn what_cannot_be_is_broken_and_not_more() {
    for bytes in ["80", "ff", "ffffffff7f", "c0", "40", "4105", "0085ffffffffff", "3fe1ffffff7f"] {
        assert_eq!(read(&mut Decoder::new(), &hex(bytes)), Err(Broken::Syntax), "{bytes}");
    }
}

/// The names' lengths by their numbers, counted in the RFC's table.
#[test]
fn the_static_table_is_that_of_the_rfc() {
    #[rustfmt::skip]
    let sizes = [
        10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14,
        16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25,
        17, 10, 4, 3, 16,
    ];
    assert_eq!(STATIC.map(|(name, _)| name.len()), sizes);
}

proptest! {
    #[test]
    fn a_literal_is_read_as_it_was_written(
        fields in prop::collection::vec(("[a-z-]{1,200}", "[ -~]{0,400}"), 0..5)
    ) {
        let mut block = Vec::new();
        for (name, value) in &fields {
            write_literal(name.as_bytes(), value.as_bytes(), &mut block);
        }
        let mut decoder = Decoder::new();
        let read = read(&mut decoder, &block).unwrap();
        let expected: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        prop_assert_eq!(read, expected);
        prop_assert_eq!(decoder.entries(), 0);
    }
}
