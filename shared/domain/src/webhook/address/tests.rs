//! No special address passes, in any form of IPv6; ordinary ones do.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;

/// IANA's special-purpose registries, as they list them (October 2025), and after those what is
/// special by other registries: multicast, site-local, and the forms that carry IPv4 addresses.
const REGISTRY_V4: [&str; 28] = [
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.88.99.2/32",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "224.0.0.0/4",
    "239.0.0.0/8",
];
const REGISTRY_V6: [&str; 32] = [
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
    "fec0::/10",
    "::/96",
    "::ffff:0:0:0/96",
    "200::/7",
    "4000::/3",
    "8000::/1",
];

fn passes(address: impl Into<IpAddr>) -> bool {
    Reach::Public.admit(address.into()).is_ok()
}

fn text_passes(text: &str) -> bool {
    passes(text.parse::<IpAddr>().unwrap())
}

/// Any address of a prefix.
fn within_v6(first: Ipv6Addr, bits: u32) -> impl Strategy<Value = Ipv6Addr> {
    let host = u128::MAX.checked_shr(bits).unwrap_or(0);
    any::<u128>().prop_map(move |random| Ipv6Addr::from(u128::from(first) | (random & host)))
}

fn within_v4(first: Ipv4Addr, bits: u32) -> impl Strategy<Value = Ipv4Addr> {
    let host = u32::MAX.checked_shr(bits).unwrap_or(0);
    any::<u32>().prop_map(move |random| Ipv4Addr::from(u32::from(first) | (random & host)))
}

fn special_v4() -> impl Strategy<Value = Ipv4Addr> {
    select(REGISTRY_V4.to_vec()).prop_flat_map(|range| {
        let (first, bits) = range.split_once('/').unwrap();
        within_v4(first.parse().unwrap(), bits.parse().unwrap())
    })
}

fn special_v6() -> impl Strategy<Value = Ipv6Addr> {
    select(REGISTRY_V6.to_vec()).prop_flat_map(|range| {
        let (first, bits) = range.split_once('/').unwrap();
        within_v6(first.parse().unwrap(), bits.parse().unwrap())
    })
}

/// Every form of IPv6 that carries this IPv4 address, by the RFC that gives it; `prefix` is an
/// ordinary network, `noise` fills what the form leaves open.
fn carriers(address: Ipv4Addr, prefix: u64, noise: u64) -> Vec<(&'static str, Ipv6Addr)> {
    let v4 = u128::from(u32::from(address));
    let prefix = u128::from(prefix) << 64;
    let noise = u128::from(noise);
    let (high, low) = (v4 >> 16, v4 & 0xffff);
    let nat64_local = 0x0064_ff9b_0001_u128 << 80;
    [
        ("mapped", 0xffff_u128 << 32 | v4),
        ("compatible", v4),
        ("translated", 0xffff_u128 << 48 | v4),
        ("NAT64", 0x0064_ff9b_u128 << 96 | v4),
        ("NAT64 /96", nat64_local | (noise & 0xffff_ffff) << 32 | v4),
        ("NAT64 /48", nat64_local | high << 64 | low << 40),
        ("6to4", 0x2002_u128 << 112 | v4 << 80 | noise),
        ("Teredo server", 0x2001_0000_u128 << 96 | v4 << 64 | noise),
        (
            "Teredo client",
            0x2001_0000_u128 << 96 | noise << 32 | (!v4 & 0xffff_ffff),
        ),
        ("ISATAP", prefix | 0x5efe_u128 << 32 | v4),
        ("ISATAP universal", prefix | 0x0200_5efe_u128 << 32 | v4),
    ]
    .map(|(form, bits)| (form, Ipv6Addr::from(bits)))
    .to_vec()
}

/// Networks of public clouds, of resolvers and of access providers.
fn ordinary() -> impl Strategy<Value = IpAddr> {
    let v4 = [
        ("1.1.1.0", 24),
        ("8.8.8.0", 24),
        ("52.94.0.0", 16),
        ("100.128.0.0", 9),
        ("104.16.0.0", 13),
        ("172.32.0.0", 11),
        ("192.30.252.0", 22),
        ("193.0.0.0", 21),
        ("223.255.254.0", 24),
    ];
    let v6 = [
        ("2001:4860::", 32),
        ("2400:cb00::", 32),
        ("2600:1f00::", 24),
        ("2606:4700::", 32),
        ("2a00:1450::", 32),
        ("2c0f:fb50::", 32),
    ];
    let v4 = select(v4.to_vec()).prop_flat_map(|(first, bits)| {
        within_v4(first.parse().unwrap(), bits).prop_map(IpAddr::V4)
    });
    let v6 = select(v6.to_vec()).prop_flat_map(|(first, bits)| {
        let network = within_v6(first.parse().unwrap(), bits);
        let plain = network.prop_filter("an ISATAP tunnel", |a| a.segments()[5] != 0x5efe);
        plain.prop_map(IpAddr::V6)
    });
    prop_oneof![v4, v6]
}

/// A case for about each of the ranges would miss some: this many miss none.
const CASES: u32 = 2_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn no_special_ipv4_address_passes_in_any_form(address in special_v4(), prefix in (0x2400_0000_0000_0000_u64..0x3000_0000_0000_0000), noise in any::<u64>()) {
        prop_assert!(!passes(address), "{}", address);
        for (form, carrier) in carriers(address, prefix, noise) {
            prop_assert!(!passes(carrier), "{} of {}: {}", form, address, carrier);
        }
    }

    #[test]
    fn no_form_that_carries_an_ipv4_address_passes(address in any::<u32>(), prefix in any::<u64>(), noise in any::<u64>()) {
        for (form, carrier) in carriers(Ipv4Addr::from(address), prefix, noise) {
            prop_assert!(!passes(carrier), "{}: {}", form, carrier);
        }
    }

    #[test]
    fn no_special_ipv6_address_passes(address in special_v6()) {
        prop_assert!(!passes(address), "{}", address);
    }

    #[test]
    fn ipv6_is_public_only_inside_2000_3(bits in any::<u128>()) {
        let address = Ipv6Addr::from(bits);
        prop_assert!(!passes(address) || bits >> 125 == 1, "{}", address);
    }

    /// What the standard library calls special is that here, too: a list of others' making.
    #[test]
    fn what_the_standard_library_calls_special_does_not_pass(v4 in any::<u32>(), v6 in any::<u128>()) {
        let v4 = Ipv4Addr::from(v4);
        let special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_broadcast()
            || v4.is_documentation() || v4.is_multicast() || v4.is_unspecified();
        prop_assert!(!(special && passes(v4)), "{}", v4);
        let v6 = Ipv6Addr::from(v6);
        let special = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast()
            || v6.is_unique_local() || v6.is_unicast_link_local() || v6.to_ipv4().is_some();
        prop_assert!(!(special && passes(v6)), "{}", v6);
    }

    #[test]
    fn ordinary_global_addresses_pass(address in ordinary()) {
        prop_assert!(passes(address), "{}", address);
    }

    #[test]
    fn with_loopback_nothing_else_is_authenticate(v4 in special_v4(), v6 in special_v6()) {
        for address in [IpAddr::V4(v4), IpAddr::V6(v6), IpAddr::V6(v4.to_ipv6_mapped())] {
            let is_in = Reach::PublicAndLoopback.admit(address).is_ok();
            prop_assert_eq!(is_in, address.is_loopback(), "{}", address);
        }
    }
}

#[test]
fn the_addresses_that_attackers_ask_for_do_not_pass() {
    for address in [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "127.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "192.0.0.192",
        "100.100.100.200",
        "168.63.129.16",
        "10.0.0.2",
        "::1",
        "::",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fe80::1",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1:a9fe:a9:fe00::",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "2001:0:808:808:8000:0:5601:5601",
        "2606:4700::5efe:169.254.169.254",
        "2606:4700::200:5efe:169.254.169.254",
    ] {
        assert!(!text_passes(address), "{address}");
    }
}

/// The first and last address of each range is in it, and the neighbours outside are public where
/// no other range begins.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn ranges_end_where_they_end() {
    for outside in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.31.195.255",
        "192.31.197.0",
        "192.52.192.255",
        "192.52.194.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "192.175.47.255",
        "192.175.49.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "2620:4f:7fff::",
        "2620:4f:8001::",
        "3ffe:ffff::",
        "3fff:1000::",
    ] {
        assert!(text_passes(outside), "{outside}");
    }
    for inside in [
        "0.255.255.255",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.255.255.255",
        "169.254.255.255",
        "172.31.255.255",
        "192.0.0.255",
        "192.168.255.255",
        "198.19.255.255",
        "224.0.0.0",
        "239.255.255.255",
        "1fff:ffff::",
        "4000::",
        "100::1",
        "100:0:0:1::1",
        "2001:1ff:ffff::",
        "2001:2::1",
        "2001:10::",
        "2001:20::",
        "3fff:fff::",
        "5f00::1",
        "fdff::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!text_passes(inside), "{inside}");
    }
}
