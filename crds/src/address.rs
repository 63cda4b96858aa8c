//! Addresses of nodes. An address is an IP address: names resolve to something else tomorrow, and identity
//! is never an address anyway (DESIGN principle 5).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The address of one node, IPv4 or IPv6, without port or brackets; its text form is canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAddress(IpAddr);

/// Why a text is not the address of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is empty.
    #[error("an address is needed: the IPv4 or IPv6 address of the node, such as 10.5.0.7")]
    Empty,
    /// The text has a port, which Ichor chooses itself.
    #[error("{0:?} names a port: give the address alone, Ichor dials port 50000")]
    Port(String),
    /// The text is no IP address.
    #[error(
        "{0:?} is not an IP address: give the IPv4 or IPv6 address of the node, such as 10.5.0.7"
    )]
    NotAnAddress(String),
    /// Unspecified, multicast or broadcast: no single machine answers there.
    #[error("{0} is not the address of one machine (unspecified, multicast or broadcast)")]
    NotOneMachine(IpAddr),
}

impl NodeAddress {
    /// The IP address.
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// Whether only this host or this link can reach it: loopback or link-local. Such addresses are dialled
    /// only where a person allowed it (`--allow-local-addresses`, DESIGN section 5).
    pub fn is_local(self) -> bool {
        match self.0 {
            IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
        }
    }
}

impl FromStr for NodeAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(AddressError::Empty);
        }
        let bare = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(trimmed);
        let Ok(ip) = bare.parse::<IpAddr>() else {
            return Err(match trimmed.parse::<std::net::SocketAddr>() {
                Ok(_) => AddressError::Port(trimmed.to_owned()),
                Err(_) => AddressError::NotAnAddress(trimmed.to_owned()),
            });
        };
        // An IPv4 address written as IPv6 is the same machine: one text for one address.
        let ip = ip.to_canonical();
        let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
        if ip.is_unspecified() || ip.is_multicast() || broadcast {
            return Err(AddressError::NotOneMachine(ip));
        }
        Ok(Self(ip))
    }
}

impl From<IpAddr> for NodeAddress {
    fn from(ip: IpAddr) -> Self {
        Self(ip.to_canonical())
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_canonical_text() {
        for (given, want) in [
            ("10.5.0.7", "10.5.0.7"),
            (" 10.5.0.7 ", "10.5.0.7"),
            ("FC00:22::0002", "fc00:22::2"),
            ("[fc00:22::2]", "fc00:22::2"),
            ("::ffff:10.5.0.7", "10.5.0.7"),
        ] {
            assert_eq!(
                given.parse::<NodeAddress>().map(|a| a.to_string()),
                Ok(want.to_owned()),
                "{given}"
            );
        }
    }

    #[test]
    fn what_is_no_node_address_says_why() {
        for (given, want) in [
            ("", "an address is needed"),
            ("worker-7", "not an IP address"),
            ("10.5.0.7:50000", "names a port"),
            ("[fc00::1]:50000", "names a port"),
            ("0.0.0.0", "not the address of one machine"),
            ("224.0.0.1", "not the address of one machine"),
            ("ff02::1", "not the address of one machine"),
            ("255.255.255.255", "not the address of one machine"),
        ] {
            let said = given.parse::<NodeAddress>().expect_err(given).to_string();
            assert!(said.contains(want), "{given}: {said}");
        }
    }

    #[test]
    fn loopback_and_link_local_are_local() {
        for (given, local) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("169.254.1.1", true),
            ("fe80::1", true),
            ("10.0.0.1", false),
        ] {
            assert_eq!(
                given.parse::<NodeAddress>().map(NodeAddress::is_local),
                Ok(local),
                "{given}"
            );
        }
    }
}
