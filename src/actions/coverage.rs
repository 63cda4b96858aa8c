//! Whether discovery of a cluster finds an address already (record 0136: an address is registered only
//! where no address or CIDR there covers it).

use ichor_crds::{Discovery, NodeAddress};
use std::net::IpAddr;

/// The entry of `discovery` that covers the address, as it is written there.
///
/// Entries are compared as addresses, not as texts: `FC00:22::0002` covers `fc00:22::2`. An entry that is
/// no address or network covers nothing.
pub fn covered_by(address: NodeAddress, discovery: Option<&Discovery>) -> Option<&str> {
    let discovery = discovery?;
    let by_address = discovery.addresses.iter().find(|entry| {
        entry
            .parse::<NodeAddress>()
            .is_ok_and(|known| known == address)
    });
    let by_network = || {
        discovery
            .cidrs
            .iter()
            .find(|entry| network_contains(entry, address.ip()))
    };
    by_address.or_else(by_network).map(String::as_str)
}

/// Whether the network in CIDR notation contains the address; families never mix.
fn network_contains(cidr: &str, address: IpAddr) -> bool {
    let Some((network, length)) = cidr.trim().split_once('/') else {
        return false;
    };
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else {
        return false;
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            same_prefix(u32::from(network) ^ u32::from(address), length, u32::BITS)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => same_prefix(
            u128::from(network) ^ u128::from(address),
            length,
            u128::BITS,
        ),
        _ => false,
    }
}

/// Whether the first `length` of `bits` bits of a difference are zero.
fn same_prefix(difference: impl Into<u128>, length: u32, bits: u32) -> bool {
    let difference: u128 = difference.into();
    // A prefix of length 0 shifts everything out, which `checked_shr` answers with None for u128.
    length <= bits && difference.checked_shr(bits - length).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discovery(addresses: &[&str], cidrs: &[&str]) -> Discovery {
        let own = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        Discovery {
            addresses: own(addresses),
            cidrs: own(cidrs),
            interval: None,
        }
    }

    #[test]
    fn an_address_is_covered_by_itself_or_its_network() {
        for (address, addresses, cidrs, want) in [
            ("10.5.0.7", vec![], vec![], None),
            ("10.5.0.7", vec!["10.5.0.8"], vec![], None),
            ("10.5.0.7", vec!["10.5.0.7"], vec![], Some("10.5.0.7")),
            ("10.5.0.7", vec![], vec!["10.5.0.0/24"], Some("10.5.0.0/24")),
            // The address wins over the network: it is the more precise answer.
            (
                "10.5.0.7",
                vec!["10.5.0.7"],
                vec!["10.5.0.0/24"],
                Some("10.5.0.7"),
            ),
            ("10.5.1.7", vec![], vec!["10.5.0.0/24"], None),
            (
                "10.5.0.127",
                vec![],
                vec!["10.5.0.0/25"],
                Some("10.5.0.0/25"),
            ),
            ("10.5.0.128", vec![], vec!["10.5.0.0/25"], None),
            ("10.5.0.7", vec![], vec!["10.5.0.7/32"], Some("10.5.0.7/32")),
            ("10.5.0.7", vec![], vec!["0.0.0.0/0"], Some("0.0.0.0/0")),
            // Host bits in a network are legal in Kubernetes' CIDR and mean the same network.
            (
                "10.5.0.7",
                vec![],
                vec!["10.5.0.99/24"],
                Some("10.5.0.99/24"),
            ),
            (
                "fc00:22::2",
                vec!["FC00:22::0002"],
                vec![],
                Some("FC00:22::0002"),
            ),
            (
                "fc00:22::2",
                vec![],
                vec!["fc00:22::/64"],
                Some("fc00:22::/64"),
            ),
            ("fc00:23::2", vec![], vec!["fc00:22::/64"], None),
            ("fc00:22::2", vec![], vec!["::/0"], Some("::/0")),
            (
                "fc00:22::2",
                vec![],
                vec!["fc00:22::2/128"],
                Some("fc00:22::2/128"),
            ),
            // Families do not mix, not even through networks that hold everything.
            ("fc00:22::2", vec![], vec!["0.0.0.0/0"], None),
            ("10.5.0.7", vec![], vec!["::/0"], None),
            // What is no network covers nothing.
            (
                "10.5.0.7",
                vec!["worker-7"],
                vec!["10.5.0.0", "10.5.0.0/33", "/"],
                None,
            ),
        ] {
            let known = discovery(&addresses, &cidrs);
            let address = address.parse().expect(address);
            assert_eq!(
                covered_by(address, Some(&known)),
                want,
                "{address:?} in {addresses:?} {cidrs:?}"
            );
        }
    }

    #[test]
    fn a_cluster_without_discovery_covers_nothing() {
        let address = "10.5.0.7".parse().expect("address");
        assert_eq!(covered_by(address, None), None);
    }
}
