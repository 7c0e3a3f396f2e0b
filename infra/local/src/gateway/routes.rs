//! The function of a call. Invariant: the most specific resource that has the method, or `ANY`,
//! wins. A resource without the method does not shadow a less specific one that has it: the real
//! gateway decides by the pair of resource and method.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// One method of one resource and the function behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRoute {
    /// An HTTP method, or `ANY`.
    pub method: String,
    /// `/v1/work-orders/{id}`, `/{proxy+}`
    pub path: String,
    pub function: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    // In the order of precedence.
    Static(String),
    Parameter(String),
    Greedy(String),
}

impl Segment {
    fn parse(text: &str) -> Self {
        match text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        {
            None => Self::Static(text.to_owned()),
            Some(name) => match name.strip_suffix('+') {
                Some(name) => Self::Greedy(name.to_owned()),
                None => Self::Parameter(name.to_owned()),
            },
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Static(_) => 0,
            Self::Parameter(_) => 1,
            Self::Greedy(_) => 2,
        }
    }
}

#[derive(Debug)]
struct Resource {
    path: String,
    segments: Vec<Segment>,
    functions: BTreeMap<String, String>,
}

/// A call's place in the routes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Match<'a> {
    /// The path as it was declared.
    pub resource: &'a str,
    pub function: &'a str,
    /// Decoded, as the real gateway hands them over.
    pub parameters: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct Routes {
    resources: Vec<Resource>,
}

impl Routes {
    pub fn new(routes: Vec<GatewayRoute>) -> Self {
        let mut functions: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for route in routes {
            functions
                .entry(route.path)
                .or_default()
                .insert(route.method, route.function);
        }
        let mut resources: Vec<Resource> = functions
            .into_iter()
            .map(|(path, functions)| {
                let segments = split(&path).map(Segment::parse).collect();
                Resource {
                    path,
                    segments,
                    functions,
                }
            })
            .collect();
        resources.sort_by_key(|resource| {
            resource
                .segments
                .iter()
                .map(Segment::rank)
                .collect::<Vec<u8>>()
        });
        Self { resources }
    }

    /// `path` is the raw path of the request.
    pub fn find(&self, method: &str, path: &str) -> Option<Match<'_>> {
        let segments: Vec<String> = split(path)
            .map(|raw| percent_decode_str(raw).decode_utf8_lossy().into_owned())
            .collect();
        self.resources.iter().find_map(|resource| {
            let function = resource
                .functions
                .get(method)
                .or_else(|| resource.functions.get("ANY"))?;
            let parameters = parameters(&resource.segments, &segments)?;
            Some(Match {
                resource: &resource.path,
                function,
                parameters,
            })
        })
    }
}

/// The segments of a path. A slash at the end does not count: the real gateway routes
/// `/a/` as `/a`.
fn split(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let count = if path.is_empty() { 0 } else { usize::MAX };
    path.split('/').take(count)
}

fn parameters(pattern: &[Segment], path: &[String]) -> Option<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::new();
    let mut rest = path;
    for segment in pattern {
        let (first, after) = rest.split_first()?;
        match segment {
            Segment::Static(text) if text == first => {}
            Segment::Static(_) => return None,
            // No parameter is empty.
            Segment::Parameter(_) if first.is_empty() => return None,
            Segment::Parameter(name) => {
                parameters.insert(name.clone(), first.clone());
            }
            Segment::Greedy(name) => {
                parameters.insert(name.clone(), rest.join("/"));
                return Some(parameters);
            }
        }
        rest = after;
    }
    rest.is_empty().then_some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(pairs: &[(&str, &str)]) -> Routes {
        Routes::new(
            pairs
                .iter()
                .map(|(method, path)| GatewayRoute {
                    method: (*method).to_owned(),
                    path: (*path).to_owned(),
                    function: format!("{method} {path}"),
                })
                .collect(),
        )
    }

    fn served_by<'a>(routes: &'a Routes, method: &str, path: &str) -> Option<&'a str> {
        routes.find(method, path).map(|found| found.function)
    }

    #[test]
    fn static_comes_before_parameter_before_greedy() {
        let routes = routes(&[
            ("ANY", "/{proxy+}"),
            ("GET", "/runs/{id}"),
            ("GET", "/runs/latest"),
            ("GET", "/runs/{id}/{rest+}"),
        ]);
        assert_eq!(
            served_by(&routes, "GET", "/runs/latest"),
            Some("GET /runs/latest")
        );
        assert_eq!(served_by(&routes, "GET", "/runs/x"), Some("GET /runs/{id}"));
        assert_eq!(
            served_by(&routes, "GET", "/runs/x/y/z"),
            Some("GET /runs/{id}/{rest+}")
        );
        assert_eq!(served_by(&routes, "GET", "/else"), Some("ANY /{proxy+}"));
    }

    /// Measured on the real gateway: ministackorg/ministack pull request 1423.
    #[test]
    fn a_resource_without_the_method_yields_to_a_less_specific_one() {
        let routes = routes(&[
            ("ANY", "/{proxy+}"),
            ("GET", "/jobs/{operation}"),
            ("OPTIONS", "/cors"),
        ]);
        assert_eq!(
            served_by(&routes, "GET", "/jobs/reboot"),
            Some("GET /jobs/{operation}")
        );
        assert_eq!(
            served_by(&routes, "POST", "/jobs/reboot"),
            Some("ANY /{proxy+}")
        );
        assert_eq!(served_by(&routes, "GET", "/jobs"), Some("ANY /{proxy+}"));
        assert_eq!(served_by(&routes, "GET", "/cors"), Some("ANY /{proxy+}"));
    }

    #[test]
    fn the_exact_method_comes_before_any() {
        let routes = routes(&[("ANY", "/a"), ("GET", "/a")]);
        assert_eq!(served_by(&routes, "GET", "/a"), Some("GET /a"));
        assert_eq!(served_by(&routes, "HEAD", "/a"), Some("ANY /a"));
    }

    #[test]
    fn parameters_are_decoded_and_never_empty() {
        let routes = routes(&[("GET", "/files/{name}"), ("GET", "/tree/{path+}")]);
        let found = routes.find("GET", "/files/a%2Fb%20c/").unwrap();
        assert_eq!(found.parameters["name"], "a/b c");
        let found = routes.find("GET", "/tree/x/%C3%A9").unwrap();
        assert_eq!(found.parameters["path"], "x/é");
        assert_eq!(routes.find("GET", "/files//"), None);
        assert_eq!(routes.find("GET", "/tree"), None);
        assert_eq!(routes.find("POST", "/files/a"), None);
    }

    #[test]
    fn the_root_is_a_resource_of_its_own() {
        let routes = routes(&[("GET", "/"), ("ANY", "/{proxy+}")]);
        assert_eq!(served_by(&routes, "GET", "/"), Some("GET /"));
        assert_eq!(served_by(&routes, "POST", "/"), None);
    }
}
