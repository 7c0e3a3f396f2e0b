//! Signatures as senders make them, written without the code of the product.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// HMAC-SHA256.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// HMAC-SHA256 in hexadecimal digits.
pub fn hex_hmac_sha256(key: &[u8], message: &[u8]) -> String {
    hex::encode(hmac_sha256(key, message))
}
