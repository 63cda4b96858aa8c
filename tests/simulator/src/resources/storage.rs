//! Disks and volumes. In container mode there are no disks and volumes are directories, as in the recordings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde::Deserialize;

use super::Draft;
use crate::node::Node;
use crate::proto::specs;
use crate::spec::DiskSpec;

pub fn drafts(node: &Node, kind: &str) -> Vec<Draft> {
    match kind {
        "Disks.block.talos.dev" => node.machine.disks.iter().map(disk).collect(),
        "SystemDisks.block.talos.dev" => system_disk(node).into_iter().collect(),
        "DiscoveredVolumes.block.talos.dev" => discovered(node),
        "VolumeStatuses.block.talos.dev" => volumes(node).into_iter().map(Volume::draft).collect(),
        _ => Vec::new(),
    }
}

/// IDs of the volumes there are now; Reset names them as labels.
pub fn volume_labels(node: &Node) -> Vec<String> {
    volumes(node).into_iter().map(|volume| volume.id).collect()
}

fn disk(disk: &DiskSpec) -> Draft {
    let spec = specs::Disk {
        size: disk.size,
        io_size: 512,
        sector_size: 512,
        readonly: disk.readonly,
        model: disk.model.clone(),
        serial: disk.serial.clone(),
        bus_path: "/pci0000:00/0000:00:05.0/virtio1/".to_owned(),
        transport: "virtio".to_owned(),
        dev_path: format!("/dev/{}", disk.name),
        pretty_size: format!("{} GB", disk.size / 1_000_000_000),
        symlinks: vec![format!("/dev/disk/by-id/virtio-{}", disk.serial)],
        ..specs::Disk::default()
    };
    let yaml = format!(
        "dev_path: {}\nsize: {}\npretty_size: {}\nio_size: 512\nsector_size: 512\nreadonly: {}\ncdrom: false\nmodel: {}\nserial: {}\nbus_path: {}\ntransport: virtio\nsymlinks:\n    - {}\n",
        spec.dev_path,
        spec.size,
        spec.pretty_size,
        spec.readonly,
        spec.model,
        spec.serial,
        spec.bus_path,
        spec.symlinks[0],
    );
    Draft::new(
        "runtime",
        "Disks.block.talos.dev",
        &disk.name,
        "block.DisksController",
        &spec,
        yaml,
    )
}

fn system(node: &Node) -> Option<&DiskSpec> {
    node.machine.disks.iter().find(|disk| disk.system)
}

fn system_disk(node: &Node) -> Option<Draft> {
    let disk = system(node)?;
    let dev_path = format!("/dev/{}", disk.name);
    let yaml = format!("diskID: {}\ndevPath: {dev_path}\n", disk.name);
    let spec = specs::SystemDisk {
        disk_id: disk.name.clone(),
        dev_path,
    };
    Some(Draft::new(
        "runtime",
        "SystemDisks.block.talos.dev",
        "system-disk",
        "block.SystemDiskController",
        &spec,
        yaml,
    ))
}

/// Partitions as Talos lays them out on the system disk.
const PARTITIONS: [(u32, &str, u64); 6] = [
    (1, "EFI", 105 << 20),
    (2, "BIOS", 1 << 20),
    (3, "BOOT", 1 << 30),
    (4, "META", 1 << 20),
    (5, "STATE", 100 << 20),
    (6, "EPHEMERAL", 18 << 30),
];

fn discovered(node: &Node) -> Vec<Draft> {
    let Some(disk) = system(node) else {
        return Vec::new();
    };
    let draft = |(index, label, size): (u32, &str, u64)| {
        let spec = specs::DiscoveredVolume {
            size,
            name: if label == "STATE" || label == "EPHEMERAL" {
                "xfs"
            } else {
                ""
            }
            .to_owned(),
            partition_label: label.to_owned(),
            partition_index: index,
            r#type: "partition".to_owned(),
            parent: disk.name.clone(),
            dev_path: format!("/dev/{}{index}", disk.name),
            ..specs::DiscoveredVolume::default()
        };
        let yaml = format!(
            "dev_path: {}\ntype: partition\nparent: {}\nsize: {size}\nname: {:?}\npartition_label: {label}\npartition_index: {index}\n",
            spec.dev_path, disk.name, spec.name
        );
        let id = format!("{}{index}", disk.name);
        Draft::new(
            "runtime",
            "DiscoveredVolumes.block.talos.dev",
            &id,
            "block.DiscoveryController",
            &spec,
            yaml,
        )
    };
    PARTITIONS.into_iter().map(draft).collect()
}

struct Volume {
    id: String,
    user: bool,
    proto: Vec<u8>,
    yaml: String,
}

/// Volumes that are directories, with their specs as recorded on a real node.
#[derive(Deserialize)]
struct Recorded {
    yaml: String,
    proto: String,
}

static DIRECTORIES: LazyLock<BTreeMap<String, Recorded>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/volumes.json")).unwrap_or_default()
});

fn volumes(node: &Node) -> Vec<Volume> {
    let configured = node.read(|state| state.config.is_some());
    let container = node.machine.spec.container;
    let disk = system(node)
        .map(|disk| disk.name.clone())
        .unwrap_or_default();
    let mut volumes = Vec::new();
    volumes.push(if container {
        Volume::waiting("META")
    } else {
        Volume::partition("META", &disk, 4)
    });
    for (id, recorded) in &*DIRECTORIES {
        let partition = match id.as_str() {
            "STATE" => 5,
            "EPHEMERAL" => 6,
            _ => 0,
        };
        if !configured && id != "STATE" {
            continue;
        }
        volumes.push(match (container, partition, configured) {
            (false, 5, false) => Volume::missing(id),
            (false, 5 | 6, _) => Volume::partition(id, &disk, partition),
            _ => Volume {
                id: id.clone(),
                user: false,
                proto: STANDARD.decode(&recorded.proto).unwrap_or_default(),
                yaml: recorded.yaml.clone(),
            },
        });
    }
    if configured {
        let names = node.machine.spec.user_volumes.iter();
        volumes.extend(names.map(|name| Volume {
            user: true,
            ..Volume::partition(&format!("u-{name}"), "sdb", 1)
        }));
    }
    volumes
}

impl Volume {
    fn waiting(id: &str) -> Self {
        let yaml = "phase: waiting\ntype: partition\n".to_owned();
        Self {
            id: id.to_owned(),
            user: false,
            proto: specs::VolumeStatus::default().encode_to_vec(),
            yaml,
        }
    }

    fn missing(id: &str) -> Self {
        let spec = specs::VolumeStatus {
            phase: 2,
            ..specs::VolumeStatus::default()
        };
        let yaml = "phase: missing\ntype: partition\n".to_owned();
        Self {
            id: id.to_owned(),
            user: false,
            proto: spec.encode_to_vec(),
            yaml,
        }
    }

    fn partition(id: &str, disk: &str, index: usize) -> Self {
        let size = PARTITIONS
            .get(index - 1)
            .filter(|(_, label, _)| *label == id)
            .map_or(10 << 30, |(_, _, size)| *size);
        let location = format!("/dev/{disk}{index}");
        let yaml = format!(
            "phase: ready\ntype: partition\nlocation: {location}\nparentLocation: /dev/{disk}\nparentID: {disk}\nsize: {size}\n"
        );
        let spec = specs::VolumeStatus {
            phase: 6,
            location,
            parent_location: format!("/dev/{disk}"),
            size,
            parent_id: disk.to_owned(),
            ..specs::VolumeStatus::default()
        };
        Self {
            id: id.to_owned(),
            user: false,
            proto: spec.encode_to_vec(),
            yaml,
        }
    }

    fn draft(self) -> Draft {
        let kind = "VolumeStatuses.block.talos.dev";
        let spec = specs::VolumeStatus::default();
        let mut draft = Draft::new(
            "runtime",
            kind,
            &self.id,
            "block.VolumeManagerController",
            &spec,
            self.yaml,
        );
        draft.proto = self.proto;
        let label = if self.user {
            "talos.dev/user-volume"
        } else {
            "talos.dev/system-volume"
        };
        draft.labels.push((label, String::new()));
        draft
    }
}
