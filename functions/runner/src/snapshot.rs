//! A run's changes so far, as sent to the control API: the beginning of a diff, in whole lines,
//! compressed.

use std::io::{self, Write};

use awo_domain::control::{MAX_DIFF_GZIP_BYTES, SnapshotDiff};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What does not shrink at all and still fits, with the gzip's own bytes.
const INCOMPRESSIBLE: usize = MAX_DIFF_GZIP_BYTES - 4_096;

/// Fills in the diff: `head` is its beginning, and it has `bytes` in all.
///
/// # Errors
/// If it cannot be compressed.
pub(crate) fn packed(snapshot: SnapshotDiff, head: &[u8], bytes: u64) -> io::Result<SnapshotDiff> {
    let is_whole = head.len() as u64 == bytes;
    let stored = if is_whole { head } else { whole_lines(head) };
    let mut gzip = gzip(stored)?;
    if gzip.len() > MAX_DIFF_GZIP_BYTES {
        gzip = self::gzip(whole_lines(&stored[..stored.len().min(INCOMPRESSIBLE)]))?;
    }
    Ok(SnapshotDiff {
        diff: STANDARD.encode(gzip),
        bytes,
        ..snapshot
    })
}

/// Up to the last end of a line; a single line is cut anywhere.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n');
    end.map_or(text, |end| &text[..=end])
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes)?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn unpacked(head: &[u8], bytes: u64) -> (Vec<u8>, usize) {
        let snapshot = SnapshotDiff {
            iteration: 1,
            base_commit: "a".to_owned(),
            commit: "b".to_owned(),
            diff: String::new(),
            bytes: 0,
        };
        let packed = packed(snapshot, head, bytes).unwrap();
        assert_eq!(packed.bytes, bytes);
        let gzip = STANDARD.decode(packed.diff).unwrap();
        let mut text = Vec::new();
        GzDecoder::new(&gzip[..]).read_to_end(&mut text).unwrap();
        (text, gzip.len())
    }

    #[test]
    fn a_diff_that_fits_is_kept_as_it_is() {
        assert_eq!(unpacked(b"", 0).0, b"");
        assert_eq!(unpacked(b"+a\n+b", 5).0, b"+a\n+b");
    }

    #[test]
    fn what_is_cut_ends_with_a_line() {
        assert_eq!(unpacked(b"+a\n+b\n+c", 100).0, b"+a\n+b\n");
        assert_eq!(unpacked(b"+abc", 100).0, b"+abc");
    }

    #[test]
    fn what_does_not_shrink_is_cut_until_it_fits() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .take(1_048_576)
        .collect();
        let (text, gzip) = unpacked(&noise, noise.len() as u64);
        assert!(gzip <= MAX_DIFF_GZIP_BYTES, "{gzip}");
        assert!(text.len() > INCOMPRESSIBLE / 2 && noise.starts_with(&text));
    }
}
