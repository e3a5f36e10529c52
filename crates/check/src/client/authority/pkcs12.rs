//! A trust store for Java: PKCS #12 (RFC 7292) with one certificate, neither encrypted nor with a MAC, which Java reads
//! if no password is given.

/// The store that trusts the certificate `der`.
pub(super) fn trust_store(der: &[u8]) -> Vec<u8> {
    // Java takes a certificate for a trusted one only with this attribute of Oracle's.
    let usage = sequence(&[oid(TRUSTED_KEY_USAGE), set(&[oid(ANY_EXTENDED_KEY_USAGE)])]);
    let certificate = sequence(&[oid(X509_CERTIFICATE), explicit(&octet_string(der))]);
    let bag = sequence(&[oid(CERT_BAG), explicit(&certificate), set(&[usage])]);
    let contents = sequence(&[data(&sequence(&[bag]))]);
    sequence(&[tagged(INTEGER, &[3]), data(&contents)])
}

/// `ContentInfo` with `data` (RFC 5652, section 4).
fn data(content: &[u8]) -> Vec<u8> {
    sequence(&[oid(DATA), explicit(&octet_string(content))])
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(SEQUENCE, &parts.concat())
}

fn set(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(SET, &parts.concat())
}

fn explicit(part: &[u8]) -> Vec<u8> {
    tagged(EXPLICIT_0, part)
}

fn octet_string(bytes: &[u8]) -> Vec<u8> {
    tagged(OCTET_STRING, bytes)
}

fn oid(encoded: &[u8]) -> Vec<u8> {
    tagged(OBJECT_IDENTIFIER, encoded)
}

/// Tag, length and content (X.690, section 8.1).
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().position(|it| *it > 0).unwrap_or(length.len() - 1)..];
    let mut out = vec![tag];
    if let ([short @ 0..=127], _) = (length, ()) {
        out.push(*short);
    } else {
        let bytes = u8::try_from(length.len()).expect("a length has at most eight bytes");
        out.push(0x80 | bytes);
        out.extend(length);
    }
    out.extend(content);
    out
}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const EXPLICIT_0: u8 = 0xa0;

/// 1.2.840.113549.1.7.1.
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
/// 1.2.840.113549.1.12.10.1.3.
const CERT_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03];
/// 1.2.840.113549.1.9.22.1.
const X509_CERTIFICATE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
/// 2.16.840.1.113894.746875.1.1.
const TRUSTED_KEY_USAGE: &[u8] =
    &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 0x01, 0x01];
/// 2.5.29.37.0.
const ANY_EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        for (length, encoded) in
            [(0, &[4, 0][..]), (127, &[4, 127]), (128, &[4, 0x81, 128]), (300, &[4, 0x82, 1, 44])]
        {
            assert_eq!(&octet_string(&vec![7; length])[..encoded.len()], encoded);
        }
    }
}
