//! Opens records with a secret: AES-GCM and ChaCha20-Poly1305 in TLS 1.2 and 1.3.

use ring::{
    aead::{self, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{self, KeyType, Prk},
    hmac,
};

use crate::keys::{Random, Secret};

/// How records are sealed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Suite {
    version: Version,
    cipher: Cipher,
    hash: Hash,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Version {
    V12,
    V13,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hash {
    Sha256,
    Sha384,
}

/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes that TLS 1.2 with AES-GCM sends of each nonce (RFC 5288, section 3).
const EXPLICIT: usize = 8;

impl Suite {
    /// The one that a server has chosen, if it is among those that can be opened.
    pub(super) fn of([version, suite]: [u16; 2]) -> Option<Self> {
        use Cipher::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305};
        let (version, cipher) = match (version, suite) {
            (0x0304, 0x1301) => (Version::V13, Aes128Gcm),
            (0x0304, 0x1302) => (Version::V13, Aes256Gcm),
            (0x0304, 0x1303) => (Version::V13, ChaCha20Poly1305),
            // RFC 5288, RFC 5289: RSA, DHE, ECDHE with ECDSA and with RSA.
            (0x0303, 0x009c | 0x009e | 0xc02b | 0xc02f) => (Version::V12, Aes128Gcm),
            (0x0303, 0x009d | 0x009f | 0xc02c | 0xc030) => (Version::V12, Aes256Gcm),
            // RFC 7905.
            (0x0303, 0xcca8..=0xccaa) => (Version::V12, ChaCha20Poly1305),
            _ => return None,
        };
        let hash = if cipher == Aes256Gcm { Hash::Sha384 } else { Hash::Sha256 };
        Some(Self { version, cipher, hash })
    }

    pub(super) fn is_version_13(self) -> bool {
        self.version == Version::V13
    }

    const fn algorithm(self) -> &'static aead::Algorithm {
        match self.cipher {
            Cipher::Aes128Gcm => &aead::AES_128_GCM,
            Cipher::Aes256Gcm => &aead::AES_256_GCM,
            Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }

    const fn explicit(self) -> usize {
        match (self.version, self.cipher) {
            (Version::V12, Cipher::Aes128Gcm | Cipher::Aes256Gcm) => EXPLICIT,
            _ => 0,
        }
    }

    /// A key of TLS 1.3 (RFC 8446, section 7.3).
    pub(super) fn key(self, secret: &Secret) -> Option<RecordKey> {
        let mut key = [0; KEY];
        let key = key.get_mut(..self.algorithm().key_len())?;
        let mut iv = [0; IV];
        self.expand(secret, b"key", key)?;
        self.expand(secret, b"iv", &mut iv)?;
        self.record_key(key, iv)
    }

    /// The secret after a key update (section 7.2).
    pub(super) fn updated(self, secret: &Secret) -> Option<Secret> {
        let mut next = [0; 48];
        let next = next.get_mut(..secret.bytes().len())?;
        self.expand(secret, b"traffic upd", next)?;
        Secret::new(next)
    }

    /// The client's and the server's key of TLS 1.2 (RFC 5246, section 6.3).
    pub(super) fn keys_12(self, master: &Secret, randoms: [Random; 2]) -> Option<[RecordKey; 2]> {
        const MOST: usize = 2 * (KEY + IV);
        let key_length = self.algorithm().key_len();
        // RFC 5288, section 3: the other bytes are sent.
        let iv_length = IV - self.explicit();
        let [client, server] = randoms;
        let seed = [&b"key expansion"[..], &server, &client].concat();
        let mut block = [0; MOST];
        self.expand_12(master, &seed, &mut block);
        let (keys, ivs) = block.split_at(2 * key_length);
        let of = |side: usize| {
            let key = keys.get(side * key_length..)?.get(..key_length)?;
            let mut iv = [0; IV];
            iv[..iv_length].copy_from_slice(ivs.get(side * iv_length..)?.get(..iv_length)?);
            self.record_key(key, iv)
        };
        Some([of(0)?, of(1)?])
    }

    fn record_key(self, key: &[u8], iv: [u8; IV]) -> Option<RecordKey> {
        let key = UnboundKey::new(self.algorithm(), key).ok()?;
        Some(RecordKey { key: LessSafeKey::new(key), iv, suite: self })
    }

    /// HKDF-Expand-Label without a context (RFC 8446, section 7.1).
    fn expand(self, secret: &Secret, label: &[u8], into: &mut [u8]) -> Option<()> {
        struct Length(usize);
        impl KeyType for Length {
            fn len(&self) -> usize {
                self.0
            }
        }
        let algorithm = match self.hash {
            Hash::Sha256 => hkdf::HKDF_SHA256,
            Hash::Sha384 => hkdf::HKDF_SHA384,
        };
        let length = u16::try_from(into.len()).ok()?.to_be_bytes();
        let label_length = [u8::try_from(b"tls13 ".len() + label.len()).ok()?];
        let info: [&[u8]; 5] = [&length, &label_length, b"tls13 ", label, &[0]];
        let prk = Prk::new_less_safe(algorithm, secret.bytes());
        prk.expand(&info, Length(into.len())).ok()?.fill(into).ok()
    }

    /// `P_hash` (RFC 5246, section 5).
    fn expand_12(self, secret: &Secret, seed: &[u8], into: &mut [u8]) {
        let algorithm = match self.hash {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha384 => hmac::HMAC_SHA384,
        };
        let key = hmac::Key::new(algorithm, secret.bytes());
        let mut a = hmac::sign(&key, seed);
        for chunk in into.chunks_mut(algorithm.digest_algorithm().output_len()) {
            let block = hmac::sign(&key, &[a.as_ref(), seed].concat());
            chunk.copy_from_slice(&block.as_ref()[..chunk.len()]);
            a = hmac::sign(&key, a.as_ref());
        }
    }
}

/// Opens the records of one direction until the key changes.
#[derive(Clone, Debug)]
pub(super) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; IV],
    suite: Suite,
}

/// What was in a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Opened<'a> {
    /// The content type, which TLS 1.3 seals, too (RFC 8446, section 5.2).
    pub(super) content_type: u8,
    pub(super) bytes: &'a [u8],
}

impl RecordKey {
    /// Opens what a record of that type carries. What `payload` holds afterwards, if it cannot be opened, is nothing.
    pub(super) fn open<'a>(
        &self,
        number: u64,
        content_type: u8,
        payload: &'a mut [u8],
    ) -> Option<Opened<'a>> {
        let explicit = self.suite.explicit();
        let sealed = payload.len();
        let (sent, payload) = payload.split_at_mut_checked(explicit)?;
        let mut nonce = self.iv;
        if explicit > 0 {
            nonce[IV - explicit..].copy_from_slice(sent);
        } else {
            for (byte, number) in nonce[IV - 8..].iter_mut().zip(number.to_be_bytes()) {
                *byte ^= number;
            }
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = |it: usize| u16::try_from(it).ok().map(u16::to_be_bytes);
        if self.suite.is_version_13() {
            let [high, low] = length(sealed)?;
            let header = [content_type, 3, 3, high, low];
            let bytes = self.key.open_in_place(nonce, Aad::from(header), payload).ok()?;
            // The type stands before the padding, which is zero.
            let end = bytes.iter().rposition(|&byte| byte != 0)?;
            return Some(Opened { content_type: bytes[end], bytes: &bytes[..end] });
        }
        let [high, low] = length(payload.len().checked_sub(TAG)?)?;
        let mut header = [0; 13];
        header[..8].copy_from_slice(&number.to_be_bytes());
        header[8..].copy_from_slice(&[content_type, 3, 3, high, low]);
        let bytes = self.key.open_in_place(nonce, Aad::from(header), payload).ok()?;
        Some(Opened { content_type, bytes })
    }
}

/// Bytes of the longest key, and of a nonce.
const KEY: usize = 32;
const IV: usize = aead::NONCE_LEN;
