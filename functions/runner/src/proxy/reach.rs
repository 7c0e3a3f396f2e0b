//! Hosts that a provider would reach for a call: sources by URL, fetches and searches of the web, and hosted MCP.
//! Where an environment names the hosts of its commands, calls name no other ones: a provider that fetches a URL
//! carries data out as a program would.

use std::borrow::Cow;
use std::fmt;

use awo_domain::environment::EgressHosts;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use url::{Host, Url};

/// Members that hold what an agent's own tools are given or take, which no provider follows.
const OF_TOOLS: [&str; 5] = [
    "input_schema",
    "parameters",
    "schema",
    "arguments",
    "metadata",
];
/// The member `input` of such blocks is given to a tool, too.
const TOOL_USES: [&str; 3] = ["tool_use", "server_tool_use", "mcp_tool_use"];
/// Beginnings of the types of tools by which a provider reaches the web.
const WEB_TOOLS: [&str; 2] = ["web_fetch", "web_search"];
/// Parts of the names of models that search the web by themselves.
const SEARCHING_MODELS: [&str; 2] = ["-search", "deep-research"];
/// Longest part of a request that a message repeats, in characters.
const MAX_REPEATED: usize = 200;
const DATA: &str = "data:";

/// Reason of a refused call. Its words are for the agent and name the member.
#[derive(Debug, Error)]
pub(super) enum UnnamedReach {
    #[error("the body is not valid: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error(
        "model: {0} searches the web, and egress of the environment names the hosts that may be reached"
    )]
    SearchingModel(String),
    #[error(
        "{0}.type: the provider would reach any host by this tool, and egress of the environment names \
         those that may be reached: give it allowed_domains of these hosts"
    )]
    AnyHost(String),
    #[error(
        "{member}.allowed_domains: {domain} stands for the host and all below it: egress of the environment \
         must name both, as {domain} and *.{domain}"
    )]
    Subdomains { member: String, domain: String },
    #[error(
        "{member}: egress of the environment names the hosts that may be reached, and this server has no {missing}"
    )]
    NoAddress {
        member: String,
        missing: &'static str,
    },
    #[error(
        "{member}: egress of the environment does not name {host}, and the provider would reach it for this call: \
         send the content itself, or add the host there if the run needs it"
    )]
    Host { member: String, host: String },
}

/// Checks that a provider reaches only hosts of these for a call with this body.
///
/// # Errors
/// The member by which it would reach another host, for the agent.
pub(super) fn check(hosts: &EgressHosts, body: &[u8]) -> Result<(), UnnamedReach> {
    let node: Node<'_> = serde_json::from_slice(body)?;
    Check { hosts }.node(&node, &Path::Root)
}

/// JSON with every member of its objects, those that stand twice as well.
enum Node<'a> {
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
    List(Vec<Node<'a>>),
    Text(Cow<'a, str>),
    Other,
}

impl<'a> Node<'a> {
    fn members(&self) -> &[(Cow<'a, str>, Node<'a>)] {
        match self {
            Node::Object(members) => members,
            _ => &[],
        }
    }

    /// All values of a member.
    fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node<'a>> {
        let members = self.members().iter();
        members
            .filter(move |(member, _)| member == name)
            .map(|(_, value)| value)
    }

    fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True if a value of `type` is one of these.
    fn is_typed(&self, is_one: impl Fn(&str) -> bool) -> bool {
        self.all("type").filter_map(Node::text).any(is_one)
    }
}

/// Position in a body.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(Path::Root, name) => f.write_str(name),
            Path::Member(above, name) => write!(f, "{above}.{name}"),
            Path::Item(above, index) => write!(f, "{above}.{index}"),
        }
    }
}

struct Check<'h> {
    hosts: &'h EgressHosts,
}

impl Check<'_> {
    fn node(&self, node: &Node<'_>, path: &Path<'_>) -> Result<(), UnnamedReach> {
        match node {
            Node::Object(members) => {
                for (name, value) in members {
                    let below = Path::Member(path, name);
                    self.member(node, (name.as_ref(), value), &below)?;
                }
                Ok(())
            }
            Node::List(items) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(index, item)| self.node(item, &Path::Item(path, index)))
            }
            Node::Text(_) | Node::Other => Ok(()),
        }
    }

    fn member(
        &self,
        owner: &Node<'_>,
        (name, value): (&str, &Node<'_>),
        path: &Path<'_>,
    ) -> Result<(), UnnamedReach> {
        let is_given = name == "input" && owner.is_typed(|kind| TOOL_USES.contains(&kind));
        if is_given || OF_TOOLS.contains(&name) {
            return Ok(());
        }
        let is_top = matches!(path, Path::Member(Path::Root, _));
        match (name, value) {
            ("model", Node::Text(model)) if is_top => Self::model(model)?,
            ("tools", Node::List(tools)) => {
                let mut tools = tools.iter().enumerate();
                tools.try_for_each(|(index, tool)| self.tool(tool, &Path::Item(path, index)))?;
            }
            ("mcp_servers", Node::List(servers)) => {
                let mut servers = servers.iter().enumerate();
                servers.try_for_each(|(index, server)| {
                    self.server(server, "url", &Path::Item(path, index))
                })?;
            }
            ("url", Node::Text(url)) if owner.is_typed(|kind| kind == "url") => {
                self.url(url, path)?;
            }
            ("source", Node::Object(_)) => self.urls_of(value, path)?,
            (name, Node::Text(url)) if name.ends_with("_url") => self.url(url, path)?,
            (name, Node::Object(_)) if name.ends_with("_url") => self.urls_of(value, path)?,
            _ => {}
        }
        self.node(value, path)
    }

    fn urls_of(&self, node: &Node<'_>, path: &Path<'_>) -> Result<(), UnnamedReach> {
        let mut urls = node.all("url").filter_map(Node::text);
        urls.try_for_each(|url| self.url(url, &Path::Member(path, "url")))
    }

    fn model(model: &str) -> Result<(), UnnamedReach> {
        if SEARCHING_MODELS.iter().any(|part| model.contains(part)) {
            return Err(UnnamedReach::SearchingModel(short(model)));
        }
        Ok(())
    }

    /// A tool that the provider may run.
    fn tool(&self, tool: &Node<'_>, path: &Path<'_>) -> Result<(), UnnamedReach> {
        if tool.is_typed(|kind| kind == "mcp") {
            return self.server(tool, "server_url", path);
        }
        let reaches = |kind: &str| WEB_TOOLS.iter().any(|web| kind.starts_with(web));
        if !tool.is_typed(reaches) {
            return Ok(());
        }
        let filters = tool.all("filters").chain([tool]);
        let lists: Vec<&Node<'_>> = filters
            .flat_map(|owner| owner.all("allowed_domains"))
            .collect();
        let domains = lists.iter().flat_map(|list| match list {
            Node::List(items) => items.as_slice(),
            _ => &[],
        });
        let domains: Vec<Option<&str>> = domains.map(Node::text).collect();
        if domains.is_empty() {
            return Err(UnnamedReach::AnyHost(path.to_string()));
        }
        let mut others = domains
            .iter()
            .filter(|domain| !domain.is_some_and(|name| self.has_all_below(name)));
        match others.next() {
            None => Ok(()),
            Some(domain) => Err(UnnamedReach::Subdomains {
                member: path.to_string(),
                domain: short(domain.unwrap_or_default()),
            }),
        }
    }

    /// True if a domain and all names below it are named, as providers read it; a path may follow.
    fn has_all_below(&self, domain: &str) -> bool {
        let host = domain.split('/').next().unwrap_or_default();
        self.hosts.has(host) && self.hosts.has(&format!("any.{host}"))
    }

    /// A server of MCP that the provider would call.
    fn server(
        &self,
        server: &Node<'_>,
        member: &'static str,
        path: &Path<'_>,
    ) -> Result<(), UnnamedReach> {
        let mut urls = server.all(member).filter_map(Node::text).peekable();
        if urls.peek().is_none() {
            return Err(UnnamedReach::NoAddress {
                member: path.to_string(),
                missing: member,
            });
        }
        urls.try_for_each(|url| self.url(url, &Path::Member(path, member)))
    }

    fn url(&self, url: &str, path: &Path<'_>) -> Result<(), UnnamedReach> {
        // Bytes that the call brings along.
        let is_data = url
            .get(..DATA.len())
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(DATA));
        if is_data {
            return Ok(());
        }
        let parsed = Url::parse(url).ok();
        let host = parsed.as_ref().and_then(Url::host);
        let is_named = match &host {
            Some(Host::Domain(name)) => self.hosts.has(name),
            _ => false,
        };
        if is_named {
            return Ok(());
        }
        Err(UnnamedReach::Host {
            member: path.to_string(),
            host: host.map_or_else(|| short(url), |host| host.to_string()),
        })
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_REPEATED).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Node<'a>, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Node<'de>>()? {
            members.push((Cow::Owned(name), value));
        }
        Ok(Node::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }
}

#[cfg(test)]
mod tests;
