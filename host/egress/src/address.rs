//! Which addresses may be dialled. The check is on the address after resolution, and the checked
//! address is the one that is dialled, so that a second answer of the resolver changes nothing.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Public addresses are allowed; every special one only where it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// A policy under which special addresses in `allowed` may be dialled too.
    #[must_use]
    pub const fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether `address` may be dialled.
    ///
    /// # Errors
    /// When it is special and not listed. A metadata service's address must be listed by itself: no
    /// range that contains it allows it.
    pub fn check(&self, address: IpAddr) -> Result<(), AddressDenied> {
        let Some(kind) = Special::of(address) else { return Ok(()) };
        let listed = self.allowed.iter().any(|net| {
            let by_itself = net.prefix_len() == net.max_prefix_len();
            net.contains(&address) && (kind != Special::Metadata || by_itself)
        });
        if listed { Ok(()) } else { Err(AddressDenied { kind }) }
    }
}

/// Why an address is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} addresses may not be dialled unless the connection lists them", .kind.as_str())]
pub struct AddressDenied {
    /// What kind of address it is.
    pub kind: Special,
}

/// Kinds of addresses that are not plain public ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// A cloud's metadata service, which hands credentials to whoever can reach it, also where it
    /// is embedded in another form.
    Metadata,
    /// This host.
    Loopback,
    /// This link.
    LinkLocal,
    /// RFC 1918.
    Private,
    /// Carrier-grade NAT, RFC 6598.
    SharedNat,
    /// RFC 4193, and the site-local addresses before it.
    UniqueLocal,
    /// A group of hosts.
    Multicast,
    /// No address at all: `0.0.0.0/8`, `::`.
    Unspecified,
    /// Every host.
    Broadcast,
    /// Documentation, benchmarks, and what is assigned to nobody.
    Reserved,
    /// A translator to an IPv4 address, RFC 6052 and RFC 8215.
    Nat64,
    /// An IPv4 address in IPv6 clothes: mapped or compatible.
    Mapped,
    /// 6to4 and Teredo.
    Tunnel,
}

impl Special {
    /// A word for operators.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata service",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Private => "private",
            Self::SharedNat => "carrier-grade NAT",
            Self::UniqueLocal => "unique local",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Broadcast => "broadcast",
            Self::Reserved => "reserved",
            Self::Nat64 => "NAT64",
            Self::Mapped => "IPv4-mapped",
            Self::Tunnel => "6to4 and Teredo",
        }
    }

    /// The kind of this address; none where it is a plain public one.
    #[must_use]
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Option<Special> {
    match address.octets() {
        // Amazon, Google, Azure and others; Amazon's containers; Alibaba.
        [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] => Some(Special::Metadata),
        [0, ..] => Some(Special::Unspecified),
        [127, ..] => Some(Special::Loopback),
        [169, 254, ..] => Some(Special::LinkLocal),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Special::Private),
        [100, 64..=127, ..] => Some(Special::SharedNat),
        [255, 255, 255, 255] => Some(Special::Broadcast),
        [224..=239, ..] => Some(Special::Multicast),
        [192, 0, 0, _]
        | [192, 0, 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Some(Special::Reserved),
        _ => None,
    }
}

fn of_v6(address: Ipv6Addr) -> Option<Special> {
    const AMAZON: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    if address == AMAZON || embedded(address).is_some_and(|inner| of_v4(inner) == Some(Special::Metadata)) {
        return Some(Special::Metadata);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Special::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Special::Loopback),
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some(Special::Mapped),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 1, ..] => Some(Special::Nat64),
        [0x2001, 0, ..] | [0x2002, ..] => Some(Special::Tunnel),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Special::UniqueLocal),
        [0xfe80..=0xfebf, ..] => Some(Special::LinkLocal),
        [0xff00..=0xffff, ..] => Some(Special::Multicast),
        // The rest of 2001::/23, documentation (RFC 3849, RFC 9637).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some(Special::Reserved),
        // Global unicast is 2000::/3; nothing outside is assigned for it.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Special::Reserved),
    }
}

/// The IPv4 address that an IPv6 address leads to.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        // Teredo carries the client's address inverted.
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, allowed: &[&str], expected: Result<(), Special>) {
        let policy = AddressPolicy::new(allowed.iter().map(|net| net.parse().unwrap()).collect());
        let got = policy.check(address.parse().unwrap()).map_err(|denied| denied.kind);
        assert_eq!(got, expected, "{address} with {allowed:?}");
    }

    #[test]
    fn special_addresses_are_refused_unless_listed() {
        use Special::{
            Broadcast, LinkLocal, Loopback, Mapped, Metadata, Multicast, Nat64, Private, Reserved, SharedNat,
            Tunnel, UniqueLocal, Unspecified,
        };
        let cases: &[(&str, Result<(), Special>)] = &[
            ("1.1.1.1", Ok(())),
            ("172.15.255.255", Ok(())),
            ("172.32.0.0", Ok(())),
            ("100.63.255.255", Ok(())),
            ("100.128.0.0", Ok(())),
            ("198.20.0.0", Ok(())),
            ("223.255.255.255", Ok(())),
            ("2606:4700::1111", Ok(())),
            ("2001:200::1", Ok(())),
            ("0.0.0.0", Err(Unspecified)),
            ("0.1.2.3", Err(Unspecified)),
            ("127.0.0.1", Err(Loopback)),
            ("127.255.0.1", Err(Loopback)),
            ("10.0.0.1", Err(Private)),
            ("172.16.0.1", Err(Private)),
            ("172.31.255.255", Err(Private)),
            ("192.168.1.1", Err(Private)),
            ("100.64.0.1", Err(SharedNat)),
            ("100.127.255.255", Err(SharedNat)),
            ("169.254.1.1", Err(LinkLocal)),
            ("169.254.169.254", Err(Metadata)),
            ("169.254.170.2", Err(Metadata)),
            ("100.100.100.200", Err(Metadata)),
            ("224.0.0.1", Err(Multicast)),
            ("255.255.255.255", Err(Broadcast)),
            ("240.0.0.1", Err(Reserved)),
            ("192.0.0.8", Err(Reserved)),
            ("192.0.2.1", Err(Reserved)),
            ("198.18.0.1", Err(Reserved)),
            ("198.19.255.255", Err(Reserved)),
            ("198.51.100.7", Err(Reserved)),
            ("203.0.113.7", Err(Reserved)),
            ("::", Err(Unspecified)),
            ("::1", Err(Loopback)),
            ("::ffff:10.0.0.1", Err(Mapped)),
            ("::ffff:1.1.1.1", Err(Mapped)),
            ("::1.1.1.1", Err(Mapped)),
            ("::ffff:0:1.1.1.1", Err(Mapped)),
            ("::ffff:169.254.169.254", Err(Metadata)),
            ("64:ff9b::1.1.1.1", Err(Nat64)),
            ("64:ff9b::169.254.169.254", Err(Metadata)),
            ("64:ff9b:1::1", Err(Nat64)),
            ("64:ff9b:1::169.254.169.254", Err(Metadata)),
            ("2002:101:101::1", Err(Tunnel)),
            ("2002:a9fe:a9fe::1", Err(Metadata)),
            ("2001:0:1:2:3:4:5:6", Err(Tunnel)),
            ("2001:0:1:2:3:4:5601:5601", Err(Metadata)),
            ("2001:db8::1", Err(Reserved)),
            ("2001:2::1", Err(Reserved)),
            ("3fff::1", Err(Reserved)),
            ("100::1", Err(Reserved)),
            ("4000::1", Err(Reserved)),
            ("fc00::1", Err(UniqueLocal)),
            ("fdff::1", Err(UniqueLocal)),
            ("fec0::1", Err(UniqueLocal)),
            ("fd00:ec2::254", Err(Metadata)),
            ("fe80::1", Err(LinkLocal)),
            ("febf::1", Err(LinkLocal)),
            ("ff02::1", Err(Multicast)),
        ];
        for (address, expected) in cases {
            check(address, &[], *expected);
        }
    }

    #[test]
    fn listed_addresses_are_allowed() {
        check("127.0.0.1", &["127.0.0.0/8"], Ok(()));
        check("10.1.2.3", &["10.1.2.3/32"], Ok(()));
        check("10.1.2.4", &["10.1.2.3/32"], Err(Special::Private));
        check("::1", &["::1/128"], Ok(()));
        // Another spelling of a listed address is another address.
        check("::ffff:10.1.2.3", &["10.0.0.0/8"], Err(Special::Mapped));
        check("::ffff:10.1.2.3", &["::ffff:0:0/96"], Ok(()));
        // A metadata service must be meant.
        check("169.254.169.254", &["169.254.0.0/16"], Err(Special::Metadata));
        check("169.254.169.254", &["0.0.0.0/0"], Err(Special::Metadata));
        check("169.254.169.254", &["169.254.169.254/31"], Err(Special::Metadata));
        check("169.254.169.254", &["169.254.169.254/32"], Ok(()));
        check("fd00:ec2::254", &["fd00::/8"], Err(Special::Metadata));
        check("fd00:ec2::254", &["fd00:ec2::254/128"], Ok(()));
        check("::ffff:169.254.169.254", &["::/0"], Err(Special::Metadata));
    }
}
