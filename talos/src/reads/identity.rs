//! Who a machine is.

use crate::connection::Connection;
use crate::error::TalosError;
use crate::model::Identity;
use crate::proto::specs;
use crate::resource::Type;

const SYSTEM_INFORMATION: Type = Type {
    namespace: "hardware",
    name: "SystemInformations.hardware.talos.dev",
};
const LINKS: Type = Type {
    namespace: "network",
    name: "LinkStatuses.net.talos.dev",
};
const HARDWARE_ADDRESSES: Type = Type {
    namespace: "network",
    name: "HardwareAddresses.net.talos.dev",
};
/// `ARPHRD_ETHER`.
const ETHER: i32 = 1;

impl Connection {
    /// UUID, serial and MACs, read on this connection (DESIGN principle 5). Parts a machine does not have are empty.
    pub async fn identity(&self) -> Result<Identity, TalosError> {
        let system: Option<specs::SystemInformation> =
            self.get(SYSTEM_INFORMATION, "systeminformation").await?;
        let system = system.unwrap_or_default();
        let links: Vec<(String, specs::LinkStatus)> = self.list(LINKS).await?;
        let mut macs = physical_macs(links.iter().map(|(_, link)| link));
        if macs.is_empty() {
            let first: Option<specs::HardwareAddress> =
                self.get(HARDWARE_ADDRESSES, "first").await?;
            macs.extend(first.and_then(|first| mac(&first.hardware_addr)));
        }
        Ok(Identity {
            uuid: system.uuid.trim().to_ascii_lowercase(),
            serial: system.serial_number.trim().to_owned(),
            macs,
            manufacturer: system.manufacturer.trim().to_owned(),
            product: system.product_name.trim().to_owned(),
        })
    }
}

/// The permanent addresses of links that are hardware: bonds, bridges and the like have a kind. A driver that
/// tells no permanent address has a link address that nothing changed.
fn physical_macs<'a>(links: impl Iterator<Item = &'a specs::LinkStatus>) -> Vec<String> {
    let mut macs: Vec<String> = links
        .filter(|link| link.r#type == ETHER && link.kind.is_empty())
        .filter_map(|link| mac(&link.permanent_addr).or_else(|| mac(&link.hardware_addr)))
        .collect();
    macs.sort();
    macs.dedup();
    macs
}

fn mac(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() || bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: &str, link_type: i32, permanent: &[u8], address: &[u8]) -> specs::LinkStatus {
        specs::LinkStatus {
            r#type: link_type,
            hardware_addr: address.to_vec(),
            kind: kind.to_owned(),
            permanent_addr: permanent.to_vec(),
        }
    }

    #[test]
    fn macs_are_the_permanent_ones_of_hardware() {
        let a = [2, 0, 0, 0, 0, 0x0a];
        let b = [2, 0, 0, 0, 0, 0x0b];
        let c = [2, 0, 0, 0, 0, 0x0c];
        for (what, links, want) in [
            (
                "permanent before current",
                vec![link("", 1, &a, &b)],
                vec!["02:00:00:00:00:0a"],
            ),
            (
                "current without permanent",
                vec![link("", 1, &[], &b)],
                vec!["02:00:00:00:00:0b"],
            ),
            (
                "all zero is none",
                vec![link("", 1, &[0; 6], &[0; 6])],
                vec![],
            ),
            (
                "bonds, bridges and loopback do not count",
                vec![
                    link("bond", 1, &[], &a),
                    link("bridge", 1, &[], &b),
                    link("", 772, &[], &c),
                ],
                vec![],
            ),
            (
                "sorted, once each",
                vec![
                    link("", 1, &b, &a),
                    link("", 1, &a, &a),
                    link("", 1, &b, &b),
                ],
                vec!["02:00:00:00:00:0a", "02:00:00:00:00:0b"],
            ),
        ] {
            assert_eq!(physical_macs(links.iter()), want, "{what}");
        }
    }
}
