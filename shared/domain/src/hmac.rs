//! HMAC-SHA256 and the comparison of signatures, for what the service signs and for what it accepts.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Signatures of one `webhook-signature` that are compared.
pub(crate) const MAX_SIGNATURES: usize = 8;
/// Length of the block of SHA-256, up to which HMAC takes a key as it is.
const BLOCK_BYTES: usize = 64;

/// HMAC-SHA256 of the parts one after another. A key of more than a block is taken by its hash.
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK_BYTES];
    let hash = Sha256::digest(key);
    let key = if key.len() > BLOCK_BYTES {
        &hash[..]
    } else {
        key
    };
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// True for equal bytes; in constant time for one length.
pub(crate) fn is_same(own: &[u8], given: &[u8]) -> bool {
    own.ct_eq(given).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_signs_by_its_hash() {
        let long = "k".repeat(128);
        let mut reference = Hmac::<Sha256>::new_from_slice(long.as_bytes()).unwrap();
        reference.update(b"Hello, World!");
        let expected: [u8; 32] = reference.finalize().into_bytes().into();
        assert_eq!(hmac_sha256(long.as_bytes(), &[b"Hello, World!"]), expected);
    }
}
