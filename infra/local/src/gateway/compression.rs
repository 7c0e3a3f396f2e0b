//! Compression of responses, as in a REST API with `MinimumCompressionSize`: by the coding that the
//! client prefers, if API Gateway supports it; not of responses that have a coding already, and
//! never of streamed ones. A client that names no coding, or `*`, gets none.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue};
use http::{HeaderMap, Response};

/// A coding that API Gateway compresses with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
}

impl Coding {
    /// The one that the client likes best; none if that is another one, or not named. Of equals
    /// the first counts.
    pub fn wanted(headers: &HeaderMap) -> Option<Coding> {
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        let mut best: Option<(&str, f32)> = None;
        for coding in values.flat_map(|value| value.split(',')) {
            let (name, weight) = weighed(coding);
            if weight > best.map_or(0.0, |(_, best)| best) {
                best = Some((name, weight));
            }
        }
        match best?.0.to_ascii_lowercase().as_str() {
            "gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    fn encode(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(body)?;
                encoder.finish()
            }
            Coding::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(body)?;
                encoder.finish()
            }
        }
    }
}

/// A coding and how much it is liked; what does not read is not.
fn weighed(coding: &str) -> (&str, f32) {
    let (name, parameter) = coding.split_once(';').unwrap_or((coding, "q=1"));
    let weight = parameter.trim().strip_prefix("q=");
    let weight = weight.and_then(|weight| weight.trim().parse().ok());
    (name.trim(), weight.unwrap_or(0.0))
}

/// The answer, compressed where it is large enough. It takes a while for large ones.
pub(crate) fn compressed(
    answer: Response<Bytes>,
    coding: Coding,
    minimum: usize,
) -> Response<Bytes> {
    let body = answer.body();
    if body.is_empty() || body.len() < minimum || answer.headers().contains_key(CONTENT_ENCODING) {
        return answer;
    }
    let Ok(encoded) = coding.encode(body) else {
        return answer;
    };
    let mut answer = answer.map(|_| Bytes::from(encoded));
    let name = HeaderValue::from_static(coding.name());
    answer.headers_mut().insert(CONTENT_ENCODING, name);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coding_is_the_one_that_is_liked_best_or_none() {
        for (accepted, wanted) in [
            ("gzip", Some(Coding::Gzip)),
            ("gzip, deflate, br", Some(Coding::Gzip)),
            ("deflate;q=0.9, GZIP;q=0.8", Some(Coding::Deflate)),
            ("br, gzip", None),
            ("br;q=0.5, gzip;q=0.6", Some(Coding::Gzip)),
            ("br;q=1.0, gzip;q=0.8", None),
            ("identity, gzip", None),
            ("gzip;q=0", None),
            ("gzip;q=nonsense", None),
            ("*", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(Coding::wanted(&headers), wanted, "{accepted}");
        }
        assert_eq!(Coding::wanted(&HeaderMap::new()), None);
    }
}
