//! `GET /docs`: the document as a page for people, drawn by Redoc from files of this repository.

use awo_cloud::{Cloud, SetupError};
use awo_http::site::{File, Site};
use awo_http::{HttpFunction, routes};

/// The page loads its own files and the document, and nothing from anywhere else. The hash is that
/// of an empty style element, which Redoc fills rule by rule; it writes styles in no other way.
const POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
    img-src 'self' data:; connect-src 'self'; worker-src blob:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static SITE: Site = Site::new(
    &[
        File::html("index.html", include_str!("../page/index.html")),
        File::css("page.css", include_str!("../page/page.css")),
        File::script("page.js", include_str!("../page/page.js")),
        File::script(
            "redoc.standalone.js",
            include_str!("../page/redoc.standalone.js"),
        ),
    ],
    POLICY,
);

/// The function `get-docs`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    SITE.function(cloud, &routes::GET_DOCS)
}
