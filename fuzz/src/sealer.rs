//! One end of a connection with TLS 1.3 whose secrets anybody may know.

use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, KeyType, Prk},
};

/// Seals records of one direction, after the handshake.
#[derive(Debug)]
pub struct Sealer {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    number: u64,
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Sealer {
    /// The secrets of both ends, for the random of [`CLIENT_HELLO`](Self::CLIENT_HELLO): 32 times 1.
    pub const KEY_LOG: &str = "\
CLIENT_TRAFFIC_SECRET_0 0101010101010101010101010101010101010101010101010101010101010101 \
0202020202020202020202020202020202020202020202020202020202020202
SERVER_TRAFFIC_SECRET_0 0101010101010101010101010101010101010101010101010101010101010101 \
0303030303030303030303030303030303030303030303030303030303030303
";
    /// A record with a ClientHello that offers one cipher suite and nothing else.
    pub const CLIENT_HELLO: &[u8] = &[
        22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 2, 19, 1, 1, 0,
    ];
    /// A record with a ServerHello that chooses it, in TLS 1.3.
    pub const SERVER_HELLO: &[u8] = &[
        22, 3, 3, 0, 50, 2, 0, 0, 46, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 19, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4,
    ];

    /// Of the client.
    #[must_use]
    pub fn client() -> Self {
        Self::new(&[2; 32])
    }

    /// Of the server.
    #[must_use]
    pub fn server() -> Self {
        Self::new(&[3; 32])
    }

    fn new(secret: &[u8]) -> Self {
        let prk = Prk::new_less_safe(HKDF_SHA256, secret);
        let expand = |label: &[u8], into: &mut [u8]| {
            let length = [0, u8::try_from(into.len()).expect("a key")];
            let label_length = [u8::try_from(label.len()).expect("a word")];
            let info: [&[u8]; 4] = [&length, &label_length, label, &[0]];
            let okm = prk.expand(&info, Length(into.len())).expect("short");
            okm.fill(into).expect("as long");
        };
        let (mut key, mut iv) = ([0; 16], [0; NONCE_LEN]);
        expand(b"tls13 key", &mut key);
        expand(b"tls13 iv", &mut iv);
        let key = UnboundKey::new(&AES_128_GCM, &key).expect("a key");
        Self { key: LessSafeKey::new(key), iv, number: 0 }
    }

    /// The next record.
    pub fn seal(&mut self, content_type: u8, content: &[u8]) -> Vec<u8> {
        let mut nonce = self.iv;
        for (byte, number) in nonce[NONCE_LEN - 8..].iter_mut().zip(self.number.to_be_bytes()) {
            *byte ^= number;
        }
        self.number += 1;
        let mut sealed = [content, &[content_type]].concat();
        let length = u16::try_from(sealed.len() + AES_128_GCM.tag_len()).expect("a record");
        let [high, low] = length.to_be_bytes();
        let header = [23, 3, 3, high, low];
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealing = self.key.seal_in_place_append_tag(nonce, Aad::from(header), &mut sealed);
        sealing.expect("short");
        [&header[..], &sealed].concat()
    }
}
