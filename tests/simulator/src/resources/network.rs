//! SMBIOS, links, addresses, hostname.

use std::fmt::Write;
use std::net::IpAddr;

use super::Draft;
use crate::calls::Action;
use crate::node::Node;
use crate::proto::{common, specs};

pub fn drafts(node: &Node, kind: &str) -> Vec<Draft> {
    match kind {
        "SystemInformations.hardware.talos.dev" => vec![system_information(node)],
        "LinkStatuses.net.talos.dev" => links(node),
        "HardwareAddresses.net.talos.dev" => hardware_address(node).into_iter().collect(),
        "NodeAddresses.net.talos.dev" => node_addresses(node),
        "AddressStatuses.net.talos.dev" => address_statuses(node),
        "HostnameStatuses.net.talos.dev" => vec![hostname(node)],
        _ => Vec::new(),
    }
}

/// A MAC as text.
pub fn mac_text(mac: &[u8]) -> String {
    mac.iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(":")
}

fn system_information(node: &Node) -> Draft {
    let machine = &node.machine;
    let kind = "SystemInformations.hardware.talos.dev";
    let (mut uuid, mut serial) = (machine.uuid.clone(), machine.serial.clone());
    if let Some(Action::AnswerAs {
        uuid: other,
        serial: other_serial,
        ..
    }) = node.ledger.identity(kind)
    {
        uuid = other.unwrap_or(uuid);
        serial = other_serial.unwrap_or(serial);
    }
    let (manufacturer, product) = (&machine.spec.manufacturer, &machine.spec.product);
    let yaml = format!(
        "manufacturer: {manufacturer}\nproductName: {product}\nversion: \"1\"\nbiosVersion: \"1.0\"\nserialnumber: {serial}\nuuid: {uuid}\nwakeUpType: Power Switch\nskuNumber: SKU1\n"
    );
    let spec = specs::SystemInformation {
        manufacturer: manufacturer.clone(),
        product_name: product.clone(),
        version: "1".to_owned(),
        serial_number: serial,
        uuid,
        wake_up_type: "Power Switch".to_owned(),
        sku_number: "SKU1".to_owned(),
        bios_version: "1.0".to_owned(),
    };
    Draft::new(
        "hardware",
        kind,
        "systeminformation",
        "hardware.SystemInfoController",
        &spec,
        yaml,
    )
}

fn macs(node: &Node, kind: &str) -> Vec<[u8; 6]> {
    let other = match node.ledger.identity(kind) {
        Some(Action::AnswerAs {
            macs: Some(macs), ..
        }) => macs
            .iter()
            .filter_map(|mac| crate::node::mac(mac).ok())
            .collect(),
        _ => Vec::new(),
    };
    if other.is_empty() {
        node.machine.macs.clone()
    } else {
        other
    }
}

fn links(node: &Node) -> Vec<Draft> {
    let kind = "LinkStatuses.net.talos.dev";
    let owner = "network.LinkStatusController";
    let container = node.machine.spec.container;
    let mut drafts = vec![loopback(kind, owner)];
    for (index, mac) in macs(node, kind).iter().enumerate() {
        let number = u32::try_from(index).unwrap_or_default() + 2;
        let (link_kind, driver) = if container {
            ("veth", "veth")
        } else {
            ("", "virtio_net")
        };
        let spec = specs::LinkStatus {
            index: number,
            r#type: 1,
            link_index: if container { 24 } else { 0 },
            flags: 69_699,
            hardware_addr: mac.to_vec(),
            broadcast_addr: vec![0xff; 6],
            mtu: 1500,
            queue_disc: if container { "noqueue" } else { "fq_codel" }.to_owned(),
            operational_state: 6,
            kind: link_kind.to_owned(),
            bus_path: if container {
                String::new()
            } else {
                format!("0000:00:0{number}.0")
            },
            driver: driver.to_owned(),
            driver_version: "1.0".to_owned(),
            link_state: true,
            speed_mbit: 10_000,
            duplex: 1,
            permanent_addr: if container { Vec::new() } else { mac.to_vec() },
            ..specs::LinkStatus::default()
        };
        let permanent = if container {
            "\"\"".to_owned()
        } else {
            mac_text(mac)
        };
        let mut yaml = format!(
            "index: {number}\ntype: ether\nlinkIndex: {}\nflags: UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP\nhardwareAddr: {}\npermanentAddr: {permanent}\nbroadcastAddr: ff:ff:ff:ff:ff:ff\nmtu: 1500\nqueueDisc: {}\noperationalState: up\nkind: {}\nslaveKind: \"\"\n",
            spec.link_index,
            mac_text(mac),
            spec.queue_disc,
            if link_kind.is_empty() {
                "\"\""
            } else {
                link_kind
            },
        );
        if !container {
            // Writing into a String cannot fail.
            let _ok = writeln!(yaml, "busPath: {}", spec.bus_path);
        }
        let _ok = write!(
            yaml,
            "driver: {driver}\ndriverVersion: \"1.0\"\nlinkState: true\nspeedMbit: 10000\nport: TwistedPair\nduplex: Full\n"
        );
        drafts.push(Draft::new(
            "network",
            kind,
            &format!("eth{index}"),
            owner,
            &spec,
            yaml,
        ));
    }
    drafts
}

fn loopback(kind: &'static str, owner: &'static str) -> Draft {
    let spec = specs::LinkStatus {
        index: 1,
        r#type: 772,
        flags: 65_609,
        hardware_addr: vec![0; 6],
        broadcast_addr: vec![0; 6],
        mtu: 65_536,
        queue_disc: "noqueue".to_owned(),
        link_state: true,
        port: 255,
        duplex: 255,
        ..specs::LinkStatus::default()
    };
    let yaml = "index: 1\ntype: loopback\nlinkIndex: 0\nflags: UP,LOOPBACK,RUNNING,LOWER_UP\nhardwareAddr: '00:00:00:00:00:00'\npermanentAddr: \"\"\nbroadcastAddr: '00:00:00:00:00:00'\nmtu: 65536\nqueueDisc: noqueue\noperationalState: unknown\nkind: \"\"\nslaveKind: \"\"\nlinkState: true\nport: Other\nduplex: Unknown\n";
    Draft::new("network", kind, "lo", owner, &spec, yaml.to_owned())
}

/// The first physical link; containers have none.
fn hardware_address(node: &Node) -> Option<Draft> {
    if node.machine.spec.container {
        return None;
    }
    let kind = "HardwareAddresses.net.talos.dev";
    let mac = *macs(node, kind).first()?;
    let yaml = format!("name: eth0\nhardwareAddr: {}\n", mac_text(&mac));
    let spec = specs::HardwareAddr {
        name: "eth0".to_owned(),
        hardware_addr: mac.to_vec(),
    };
    Some(Draft::new(
        "network",
        kind,
        "first",
        "network.HardwareAddrController",
        &spec,
        yaml,
    ))
}

fn prefix(address: IpAddr) -> common::NetIpPrefix {
    let (ip, prefix_length) = match address {
        IpAddr::V4(address) => (address.octets().to_vec(), 24),
        IpAddr::V6(address) => (address.octets().to_vec(), 64),
    };
    common::NetIpPrefix { ip, prefix_length }
}

fn node_addresses(node: &Node) -> Vec<Draft> {
    let address = node.read(|state| state.address);
    let mut names = vec!["accumulative", "current", "default", "routed"];
    if node.read(|state| state.config.is_some()) {
        names.extend([
            "accumulative-no-k8s",
            "accumulative-only-k8s",
            "current-no-k8s",
            "current-only-k8s",
            "routed-no-k8s",
            "routed-only-k8s",
        ]);
    }
    let draft = |name: &str| {
        let prefix = prefix(address);
        let (yaml, addresses) = if name.ends_with("only-k8s") {
            ("addresses: []\nsortAlgorithm: v1\n".to_owned(), Vec::new())
        } else {
            (
                format!(
                    "addresses:\n    - {address}/{}\nsortAlgorithm: v1\n",
                    prefix.prefix_length
                ),
                vec![prefix],
            )
        };
        let spec = specs::NodeAddress { addresses };
        Draft::new(
            "network",
            "NodeAddresses.net.talos.dev",
            name,
            "network.NodeAddressController",
            &spec,
            yaml,
        )
    };
    names.into_iter().map(draft).collect()
}

fn address_statuses(node: &Node) -> Vec<Draft> {
    let (address, configured) = node.read(|state| (state.address, state.config.is_some()));
    let draft = |link: &str,
                 index: u32,
                 address: IpAddr,
                 length: i32,
                 (scope, scope_text): (i32, &str)| {
        let mut prefix = prefix(address);
        prefix.prefix_length = length;
        let family = if address.is_ipv4() { "inet4" } else { "inet6" };
        let yaml = format!(
            "address: {address}/{length}\nlinkIndex: {index}\nlinkName: {link}\nfamily: {family}\nscope: {scope_text}\nflags: permanent\npriority: 0\n"
        );
        let spec = specs::AddressStatus {
            local: address.is_ipv4().then(|| specs::Ip {
                ip: prefix.ip.clone(),
            }),
            address: Some(prefix),
            link_index: index,
            link_name: link.to_owned(),
            family: if address.is_ipv4() { 2 } else { 10 },
            scope,
            flags: 128,
        };
        let id = format!("{link}/{address}/{length}");
        Draft::new(
            "network",
            "AddressStatuses.net.talos.dev",
            &id,
            "network.AddressStatusController",
            &spec,
            yaml,
        )
    };
    let host = (254, "host");
    let length = prefix(address).prefix_length;
    let mut drafts = vec![
        draft("eth0", 2, address, length, (0, "global")),
        draft("lo", 1, IpAddr::from([127, 0, 0, 1]), 8, host),
        draft("lo", 1, IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), 128, host),
    ];
    if let Some([a, b, c, d, e, f]) = node.machine.macs.first().copied() {
        let join = |high: u8, low: u8| u16::from(high) << 8 | u16::from(low);
        let link_local = [
            0xfe80,
            0,
            0,
            0,
            join(a ^ 2, b),
            join(c, 0xff),
            join(0xfe, d),
            join(e, f),
        ];
        drafts.push(draft(
            "eth0",
            2,
            IpAddr::from(link_local),
            64,
            (253, "link"),
        ));
    }
    if configured {
        // Host DNS listens here.
        drafts.push(draft("lo", 1, IpAddr::from([169, 254, 116, 108]), 32, host));
    }
    drafts
}

fn hostname(node: &Node) -> Draft {
    let hostname = node.read(|state| state.hostname(&node.machine));
    let yaml = format!("hostname: {hostname}\ndomainname: \"\"\n");
    let spec = specs::HostnameStatus {
        hostname,
        domainname: String::new(),
    };
    Draft::new(
        "network",
        "HostnameStatuses.net.talos.dev",
        "hostname",
        "network.HostnameSpecController",
        &spec,
        yaml,
    )
}
