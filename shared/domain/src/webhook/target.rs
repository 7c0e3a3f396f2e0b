//! The URL of a webhook: an `https` URL that can be public. The addresses of its name are checked
//! at each attempt, by [`Reach::admit`]; an address in the URL itself is checked here, in any
//! notation, since it is never resolved.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::address::Reach;

/// Longest URL, in bytes.
pub const MAX_URL: usize = 2_048;

/// Ends of names that are not of the public name system, or that it gives to everybody's own use:
/// RFC 6761, 6762 (with its appendix G), 7686, 8375, 9476, ICANN's `internal`; all of `arpa`, of
/// which `home.arpa` is one, is for the system itself. The names of the documentation
/// (`example.com`) are not local: they pass, and lead nowhere.
const LOCAL_ENDS: [&str; 14] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "test",
    "invalid",
    "onion",
    "alt",
    "arpa",
    "lan",
    "home",
    "corp",
    "intranet",
    "private",
];

/// The URL of a webhook, as its owner wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// Reads a URL from outside.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str, reach: Reach) -> Result<WebhookUrl, String> {
        judge(text, reach).map(|_| WebhookUrl(text.to_owned()))
    }

    /// The URL to connect to. It is judged anew: a rule may be stricter than when it was stored.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn to_url(&self, reach: Reach) -> Result<Url, String> {
        judge(&self.0, reach)
    }

    /// True if both have one host and port: what was secret for one is for the other, too.
    #[must_use]
    pub fn has_origin_of(&self, other: &WebhookUrl) -> bool {
        match (Url::parse(&self.0), Url::parse(&other.0)) {
            (Ok(one), Ok(other)) => one.origin() == other.origin(),
            _ => false,
        }
    }

    /// The URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn judge(text: &str, reach: Reach) -> Result<Url, String> {
    if text.len() > MAX_URL {
        return Err(format!("must not be longer than {MAX_URL} bytes"));
    }
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.chars().any(forbidden) {
        return Err("must not contain white space, control characters or backslashes".to_owned());
    }
    // Parsers of URLs do not agree on `https:host` and `https:///host`: neither is taken.
    let rest = match text.split_at_checked("https://".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https://") => rest,
        _ => return Err("must be an https:// URL".to_owned()),
    };
    if rest.starts_with('/') {
        return Err("must have a host after https://".to_owned());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    // `https://@host` has an empty user name, which the parsed URL does not show.
    let authority = rest.split(['/', '?', '#']).next();
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err("must not contain a user name or password".to_owned());
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment (#…), which is not sent".to_owned());
    }
    if url.port() == Some(0) {
        return Err("must not have port 0".to_owned());
    }
    judge_host(&url, reach)?;
    Ok(url)
}

fn judge_host(url: &Url, reach: Reach) -> Result<(), String> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(name)) => return judge_name(name, reach),
        None => return Err("must have a host".to_owned()),
    };
    let judged = reach.admit(address);
    judged.map_err(|special| format!("must lead to a public host, but {address} {special}"))
}

/// `name` is as [`Url`] has it: in lower case and in ASCII.
pub(super) fn judge_name(name: &str, reach: Reach) -> Result<(), String> {
    let rooted = name.strip_suffix('.').unwrap_or(name);
    if rooted.split('.').any(str::is_empty) || rooted.len() > 253 {
        return Err("must have a host".to_owned());
    }
    if rooted == "localhost" && reach == Reach::PublicAndLoopback {
        return Ok(());
    }
    let Some((_, end)) = rooted.rsplit_once('.') else {
        return Err(format!(
            "must lead to a public host, but {rooted} is a name of one local network"
        ));
    };
    if LOCAL_ENDS.contains(&end) {
        return Err(format!(
            "must lead to a public host, but names that end in .{end} are reserved for local use"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn fault(text: &str) -> String {
        match WebhookUrl::parse(text, Reach::Public) {
            Ok(_) => String::new(),
            Err(fault) => fault,
        }
    }

    #[test]
    fn public_https_urls_are_taken_as_they_are_written() {
        for good in [
            "https://example.com",
            "https://hooks.example.com:8443/a/b?c=d%20e&f=@",
            "HTTPS://Example.COM/Hook",
            "https://example.com./hook",
            "https://bücher.example/@me",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]/",
            "https://localhost.example.com/",
            "https://127.0.0.1.nip.io/",
        ] {
            assert_eq!(fault(good), "", "{good}");
            let url = WebhookUrl::parse(good, Reach::Public).unwrap();
            assert_eq!(url.as_str(), good);
            assert_eq!(url.to_url(Reach::Public).unwrap().scheme(), "https");
        }
    }

    #[test]
    fn other_urls_are_refused_with_the_reason() {
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL));
        for (bad, reason) in [
            ("", "https://"),
            ("http://example.com/", "https://"),
            ("example.com", "https://"),
            ("ftp://example.com/", "https://"),
            ("https:example.com", "https://"),
            ("https:/example.com", "https://"),
            ("https:///example.com", "have a host"),
            ("https://", "is not a URL"),
            ("https://?a", "is not a URL"),
            ("https://exa mple.com/", "white space"),
            (" https://example.com/", "white space"),
            ("https://example.com/\n", "white space"),
            ("https://example.com\\@10.0.0.1/", "backslashes"),
            ("https://user@example.com/", "user name"),
            ("https://user:pw@example.com/", "user name"),
            ("https://@example.com/", "user name"),
            ("https://:@example.com/", "user name"),
            ("https://example.com/#a", "fragment"),
            ("https://example.com/#", "fragment"),
            ("https://example.com:0/", "port"),
            ("https://example.com:65536/", "is not a URL"),
            ("https://example..com/", "host"),
            ("https://1.2.3.4.5/", "is not a URL"),
            ("https://256.0.0.1/", "is not a URL"),
            ("https://[fe80::1%25eth0]/", "is not a URL"),
            (long.as_str(), "longer"),
        ] {
            assert!(fault(bad).contains(reason), "{bad}: {:?}", fault(bad));
        }
    }

    #[test]
    fn names_for_local_use_are_refused() {
        for bad in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "localhost.localdomain",
            "ip6-localhost",
            "printer.local",
            "metadata.google.internal",
            "ec2.internal.",
            "a.test",
            "a.invalid",
            "abc.onion",
            "router.home.arpa",
            "1.0.0.127.in-addr.arpa",
            "nas.lan",
            "intranet",
            "router",
            "com",
            "l%6fcalhost",
            "ｌｏｃａｌｈｏｓｔ",
            "printer。local",
        ] {
            let fault = fault(&format!("https://{bad}/hook"));
            assert!(fault.contains("local"), "{bad}: {fault:?}");
        }
    }

    #[test]
    fn loopback_is_for_tests_and_only_there() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            let text = format!("https://{host}:8443/hook");
            assert!(
                WebhookUrl::parse(&text, Reach::PublicAndLoopback).is_ok(),
                "{text}"
            );
            let url = WebhookUrl(text);
            assert!(url.to_url(Reach::Public).is_err(), "{url:?}");
        }
        for host in [
            "10.0.0.1",
            "169.254.169.254",
            "[::ffff:127.0.0.1]",
            "a.localhost",
        ] {
            let text = format!("https://{host}/");
            assert!(
                WebhookUrl::parse(&text, Reach::PublicAndLoopback).is_err(),
                "{text}"
            );
        }
    }

    /// The ways to write an IPv4 address that parsers of URLs, and `inet_aton`, know.
    fn spellings(address: Ipv4Addr) -> Vec<String> {
        let [a, b, c, d] = address.octets();
        let whole = u32::from(address);
        let wide = [
            address.to_string(),
            format!("{address}."),
            whole.to_string(),
            format!("{whole:#x}"),
            format!("0X{whole:X}"),
            format!("0{whole:o}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("000{a:o}.{b}.{c:#06x}.{d}"),
            format!("{a}.{b}.{}", whole & 0xffff),
            format!("{a}.{}", whole & 0x00ff_ffff),
            format!("{a:#x}.0{:o}", whole & 0x00ff_ffff),
        ];
        let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect();
        let full_width = |text: &str| {
            let widen = |c: char| char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c);
            text.chars()
                .map(|c| if c == '.' { '。' } else { widen(c) })
                .collect()
        };
        let mut all = wide.to_vec();
        all.push(escaped(&address.to_string()));
        all.push(full_width(&address.to_string()));
        for v6 in [address.to_ipv6_mapped(), address.to_ipv6_compatible()] {
            let whole = v6.segments().map(|segment| format!("{segment:04X}"));
            all.push(format!("[{v6}]"));
            all.push(format!("[{}]", whole.join(":")));
        }
        all
    }

    proptest! {
        #[test]
        fn no_special_address_passes_in_any_written_form(
            range in proptest::sample::select(vec![
                (0x0000_0000_u32, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8),
                (0xa9fe_0000, 16), (0xac10_0000, 12), (0xc0a8_0000, 16), (0xc612_0000, 15),
                (0xe000_0000, 4), (0xf000_0000, 4),
            ]),
            random in any::<u32>(),
        ) {
            let (first, bits) = range;
            let address = Ipv4Addr::from(first | (random & (u32::MAX >> bits)));
            for written in spellings(address) {
                let text = format!("https://{written}/hook");
                prop_assert!(fault(&text).contains("public"), "{}: {:?}", text, fault(&text));
            }
        }

        #[test]
        fn no_text_makes_the_check_panic_or_lets_another_scheme_in(text in "(https://)?[\\PC]{0,40}") {
            if let Ok(url) = WebhookUrl::parse(&text, Reach::Public) {
                let url = url.to_url(Reach::Public).unwrap();
                prop_assert_eq!(url.scheme(), "https");
                prop_assert!(url.username().is_empty() && url.password().is_none());
                prop_assert!(url.host().is_some());
            }
        }
    }
}
