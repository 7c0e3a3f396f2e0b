//! The files, and what a browser may do with them: load these and no others, run no script that is written
//! into a page, call the origin that they came from and nobody else.

use awo_http::Answer;
use lambda_http::Request;
use lambda_http::http::header::IF_NONE_MATCH;
use sha2::{Digest, Sha256};

/// A browser asks each time whether a file has changed: it changes with a release.
const CACHE_CONTROL: &str = "no-cache";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself.
pub const PAGE: File = File {
    name: "index.html",
    content_type: HTML,
    text: include_str!("../static/index.html"),
};

/// What it loads.
pub const FILES: [File; 13] = [
    PAGE,
    css("console.css", include_str!("../static/console.css")),
    css(
        "uplot.css",
        include_str!("../static/vendor/uplot-1.6.32.css"),
    ),
    script("uplot.js", include_str!("../static/vendor/uplot-1.6.32.js")),
    script("console.js", include_str!("../static/console.js")),
    script("api.js", include_str!("../static/api.js")),
    script("chart.js", include_str!("../static/chart.js")),
    script("dom.js", include_str!("../static/dom.js")),
    script("drill.js", include_str!("../static/drill.js")),
    script("focus.js", include_str!("../static/focus.js")),
    script("format.js", include_str!("../static/format.js")),
    script("money.js", include_str!("../static/money.js")),
    script("runs.js", include_str!("../static/runs.js")),
];

/// A file of the console.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its name beside the page.
    pub name: &'static str,
    content_type: &'static str,
    /// What is in it.
    pub text: &'static str,
}

const fn css(name: &'static str, text: &'static str) -> File {
    File {
        name,
        content_type: CSS,
        text,
    }
}

const fn script(name: &'static str, text: &'static str) -> File {
    File {
        name,
        content_type: JAVASCRIPT,
        text,
    }
}

impl File {
    /// The file, or that the browser has it as it is.
    pub fn answer(&self, request: &Request) -> Answer {
        let hash = hex::encode(Sha256::digest(self.text.as_bytes()));
        // Weak, since a gateway sends the same file in several codings under it.
        let tag = format!("W/\"{}\"", &hash[..32]);
        let values = request.headers().get_all(IF_NONE_MATCH).iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        let is_known = values.any(|known| known.split(',').any(|one| one.trim() == tag));
        let answer = match is_known {
            true => Answer::not_modified(),
            false => Answer::file(self.content_type, self.text.to_owned()),
        };
        answer
            .header("etag", tag)
            .header("cache-control", CACHE_CONTROL.to_owned())
            .header("vary", "accept-encoding".to_owned())
            .header("content-security-policy", POLICY.to_owned())
            .header("cross-origin-opener-policy", "same-origin".to_owned())
            .header("cross-origin-resource-policy", "same-origin".to_owned())
            .header("referrer-policy", "no-referrer".to_owned())
            .header("x-content-type-options", "nosniff".to_owned())
    }
}
