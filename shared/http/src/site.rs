//! Pages that need no key: their files are built into the program, and sent with a tag, so that a
//! browser asks again without getting them again, and with a policy that lets a page load and call
//! what is its own and nothing else.
//!
//! A site has two routes: its page, and `{file}` below it for what the page loads. Files are text:
//! what a gateway sends as it is, and compresses.

use std::sync::OnceLock;

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, Resource};
use lambda_http::http::header::IF_NONE_MATCH;
use lambda_http::{Request, RequestExt};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::function::HttpFunction;
use awo_contract::routes::Route;

/// A browser asks each time whether a file has changed: files of two releases do not fit together.
const CACHE_CONTROL: &str = "no-cache";
/// The parameter of the route below the page.
const FILE: &str = "file";

/// A file of a site.
#[derive(Debug)]
pub struct File {
    /// Its name, without a folder.
    name: &'static str,
    media_type: &'static str,
    text: &'static str,
}

impl File {
    /// A page.
    #[must_use]
    pub const fn html(name: &'static str, text: &'static str) -> File {
        File {
            name,
            media_type: "text/html; charset=utf-8",
            text,
        }
    }

    /// Styles.
    #[must_use]
    pub const fn css(name: &'static str, text: &'static str) -> File {
        File {
            name,
            media_type: "text/css; charset=utf-8",
            text,
        }
    }

    /// A script.
    #[must_use]
    pub const fn script(name: &'static str, text: &'static str) -> File {
        File {
            name,
            media_type: "text/javascript; charset=utf-8",
            text,
        }
    }
}

/// A page and what it loads.
#[derive(Debug)]
pub struct Site {
    /// The page first, then what it loads.
    files: &'static [File],
    /// Its Content-Security-Policy.
    policy: &'static str,
    /// The page is at its route with a slash at the end, and what it loads beside it.
    is_folder: bool,
    /// The tags of its files, once they are known.
    tags: OnceLock<Vec<String>>,
}

impl Site {
    /// A site of these files, whose page names what it loads as `ROUTE/FILE`.
    #[must_use]
    pub const fn new(files: &'static [File], policy: &'static str) -> Site {
        Site::of(files, policy, false)
    }

    /// A site whose page names what it loads as `FILE`, and so must have a slash at the end of its
    /// path. A gateway has one resource for the path with a slash and without.
    #[must_use]
    pub const fn folder(files: &'static [File], policy: &'static str) -> Site {
        Site::of(files, policy, true)
    }

    const fn of(files: &'static [File], policy: &'static str, is_folder: bool) -> Site {
        Site {
            files,
            policy,
            is_folder,
            tags: OnceLock::new(),
        }
    }

    /// The function that serves the site. `page` is its route without a file.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn function(
        &'static self,
        cloud: &Cloud,
        page: &'static Route,
    ) -> Result<HttpFunction, SetupError> {
        HttpFunction::open(
            cloud,
            page,
            move |request| async move { self.answer(&request) },
        )
    }

    fn answer(&self, request: &Request) -> Result<Answer, Error> {
        let parameters = request.path_parameters_ref();
        let at = match parameters.and_then(|of| of.first(FILE)) {
            None if self.is_folder && !request.raw_http_path().ends_with('/') => {
                let path = request.raw_http_path();
                let name = path.rsplit('/').next().unwrap_or_default();
                return Ok(Answer::moved(&format!("{name}/")));
            }
            None => 0,
            Some(name) => (self.files.iter().position(|file| file.name == name))
                .ok_or(Error::NotFound(Resource::Route))?,
        };
        let file = self.files.get(at).ok_or(Error::NotFound(Resource::Route))?;
        let tag = self.tag(at);
        let answer = if is_known(request, tag) {
            Answer::not_modified()
        } else {
            Answer::file(file.media_type, file.text)
        };
        Ok(answer
            .header("etag", tag.to_owned())
            .header("cache-control", CACHE_CONTROL.to_owned())
            .header("vary", "accept-encoding".to_owned())
            .header("content-security-policy", self.policy.to_owned())
            .header("cross-origin-opener-policy", "same-origin".to_owned())
            .header("cross-origin-resource-policy", "same-origin".to_owned())
            .header("x-content-type-options", "nosniff".to_owned())
            .header("referrer-policy", "no-referrer".to_owned()))
    }

    /// Weak, since a gateway sends the same file in several codings under it.
    fn tag(&self, at: usize) -> &str {
        let tags = self.tags.get_or_init(|| {
            let tag = |file: &File| weak_tag(file.text.as_bytes());
            self.files.iter().map(tag).collect()
        });
        tags.get(at).map_or("", String::as_str)
    }
}

/// The tag of what a gateway sends in several codings.
#[must_use]
pub fn weak_tag(of: &[u8]) -> String {
    let hash = hex::encode(Sha256::digest(of));
    format!("W/\"{}\"", &hash[..32])
}

/// True if the client has what this tag names.
#[must_use]
pub fn is_known(request: &Request, tag: &str) -> bool {
    let values = request.headers().get_all(IF_NONE_MATCH).iter();
    let tags = values.filter_map(|value| value.to_str().ok());
    let ours = tag.trim_start_matches("W/");
    tags.flat_map(|tags| tags.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == ours)
}
