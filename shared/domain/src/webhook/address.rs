//! The addresses that a delivery may be sent to: public unicast ones, and no other.
//!
//! Every range of IANA's special-purpose registries is refused, including globally reachable ones,
//! which host no receivers. In IPv6, only 2000::/3 can be public at all, so a range that is
//! allocated later is refused until it is listed. An IPv6 form that carries an IPv4 address is
//! refused as a form, whatever it carries: a host with such an address has the IPv4 address, too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The special range that an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is in a range that is not public ({purpose})")]
pub struct Special {
    /// What the range is for.
    pub purpose: &'static str,
}

/// How far deliveries may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses only: the rule.
    Public,
    /// This machine, too: for tests and local work, never in the cloud.
    PublicAndLoopback,
}

impl Reach {
    /// Asks whether this address may be connected to. It must be asked for the very address that
    /// the connection then goes to, and of several that a name has, for each.
    ///
    /// # Errors
    /// The [`Special`] range that forbids it.
    pub fn admit(self, address: IpAddr) -> Result<(), Special> {
        if self == Reach::PublicAndLoopback && address.is_loopback() {
            return Ok(());
        }
        special(address).map_or(Ok(()), Err)
    }
}

/// The special range that this address is in, if it is in one.
#[must_use]
pub fn special(address: IpAddr) -> Option<Special> {
    let purpose = match address {
        IpAddr::V4(address) => purpose_v4(address),
        IpAddr::V6(address) => purpose_v6(address),
    };
    purpose.map(|purpose| Special { purpose })
}

/// The first address, the length of the prefix in bits, and what the range is for.
type Range<A> = (A, u32, &'static str);

const fn v4(a: u8, b: u8, c: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, 0)
}

/// Purpose of an address at which a cloud answers questions of its machines, often with credentials.
pub const METADATA: &str = "metadata of a cloud";

/// Services of clouds for their machines that are in no range of IANA's, or in one with other uses: those of
/// Azure, Alibaba Cloud and Oracle, and in IPv6 of AWS, Google and Scaleway. Others are link-local.
const METADATA_V4: [Range<Ipv4Addr>; 3] = [
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA),
    (Ipv4Addr::new(192, 0, 0, 192), 32, METADATA),
];
const METADATA_V6: [Range<Ipv6Addr>; 3] = [
    (v6(0xfd00, 0xec2, 0, 0), 32, METADATA),
    (v6(0xfd20, 0xce, 0, 0), 32, METADATA),
    (v6(0xfd00, 0x42, 0, 0), 32, METADATA),
];

/// IANA's IPv4 special-purpose registry, and multicast.
const SPECIAL_V4: [Range<Ipv4Addr>; 18] = [
    (v4(0, 0, 0), 8, "this network"),
    (v4(10, 0, 0), 8, "private use"),
    (v4(100, 64, 0), 10, "shared by a carrier"),
    (v4(127, 0, 0), 8, "loopback"),
    (v4(169, 254, 0), 16, "link-local"),
    (v4(172, 16, 0), 12, "private use"),
    (v4(192, 0, 0), 24, "protocol assignments"),
    (v4(192, 0, 2), 24, "documentation"),
    (v4(192, 31, 196), 24, "AS112"),
    (v4(192, 52, 193), 24, "AMT"),
    (v4(192, 88, 99), 24, "6to4 relays"),
    (v4(192, 168, 0), 16, "private use"),
    (v4(192, 175, 48), 24, "AS112"),
    (v4(198, 18, 0), 15, "benchmarks"),
    (v4(198, 51, 100), 24, "documentation"),
    (v4(203, 0, 113), 24, "documentation"),
    (v4(224, 0, 0), 4, "multicast"),
    (v4(240, 0, 0), 4, "reserved, or broadcast"),
];

const fn v6(a: u16, b: u16, c: u16, d: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)
}

/// IANA's IPv6 special-purpose registry, the forms that carry an IPv4 address, and multicast; the
/// narrower range first where one is inside another.
const SPECIAL_V6: [Range<Ipv6Addr>; 23] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible"),
    (
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
        96,
        "IPv4-mapped",
    ),
    (
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0),
        96,
        "IPv4-translated",
    ),
    (v6(0x64, 0xff9b, 0, 0), 96, "IPv4 behind NAT64"),
    (v6(0x64, 0xff9b, 1, 0), 48, "IPv4 behind a local NAT64"),
    (v6(0x100, 0, 0, 0), 64, "discard"),
    (v6(0x100, 0, 0, 1), 64, "dummy"),
    (v6(0x2001, 0, 0, 0), 32, "Teredo"),
    (v6(0x2001, 2, 0, 0), 48, "benchmarks"),
    (v6(0x2001, 0x10, 0, 0), 28, "ORCHID"),
    (v6(0x2001, 0x20, 0, 0), 28, "ORCHIDv2"),
    (v6(0x2001, 0, 0, 0), 23, "protocol assignments"),
    (v6(0x2001, 0xdb8, 0, 0), 32, "documentation"),
    (v6(0x2002, 0, 0, 0), 16, "6to4"),
    (v6(0x2620, 0x4f, 0x8000, 0), 48, "AS112"),
    (v6(0x3fff, 0, 0, 0), 20, "documentation"),
    (v6(0x5f00, 0, 0, 0), 16, "segment routing"),
    (v6(0xfc00, 0, 0, 0), 7, "unique local"),
    (v6(0xfe80, 0, 0, 0), 10, "link-local"),
    (v6(0xfec0, 0, 0, 0), 10, "site-local"),
    (v6(0xff00, 0, 0, 0), 8, "multicast"),
];

/// What is given out to the public network so far.
const GLOBAL_V6: Range<Ipv6Addr> = (v6(0x2000, 0, 0, 0), 3, "global unicast");

fn purpose_v4(address: Ipv4Addr) -> Option<&'static str> {
    let differs = |first: Ipv4Addr| u32::from(first) ^ u32::from(address);
    let is_in = |(first, bits, _): &&Range<Ipv4Addr>| differs(*first).leading_zeros() >= *bits;
    let mut ranges = METADATA_V4.iter().chain(&SPECIAL_V4);
    ranges.find(is_in).map(|range| range.2)
}

fn purpose_v6(address: Ipv6Addr) -> Option<&'static str> {
    let differs = |first: Ipv6Addr| u128::from(first) ^ u128::from(address);
    let is_in = |(first, bits, _): &&Range<Ipv6Addr>| differs(*first).leading_zeros() >= *bits;
    let mut ranges = METADATA_V6.iter().chain(&SPECIAL_V6);
    let listed = ranges.find(is_in).map(|range| range.2);
    listed.or_else(|| {
        if is_isatap(address) {
            Some("ISATAP")
        } else if is_in(&&GLOBAL_V6) {
            None
        } else {
            Some("not assigned")
        }
    })
}

/// An interface id of RFC 5214, `0:5efe:` or `200:5efe:` and an IPv4 address, is a tunnel to that
/// address under any prefix; the two bits for "universal" and "group" are ignored.
fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    segments[4] & !0x0300 == 0 && segments[5] == 0x5efe
}

#[cfg(test)]
mod tests;
