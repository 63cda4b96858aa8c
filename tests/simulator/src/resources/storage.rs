//! Disks and volumes. In container mode there are no disks and volumes are directories, as in the recordings.

use super::Draft;
use crate::node::Node;
use crate::proto::specs;
use crate::spec::DiskSpec;

pub fn drafts(node: &Node, kind: &str) -> Vec<Draft> {
    match kind {
        "Disks.block.talos.dev" => node.machine.disks.iter().map(disk).collect(),
        "SystemDisks.block.talos.dev" => system_disk(node).into_iter().collect(),
        "DiscoveredVolumes.block.talos.dev" => discovered(node),
        "VolumeStatuses.block.talos.dev" => volumes(node).iter().map(Volume::draft).collect(),
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
        spec.dev_path, spec.size, spec.pretty_size, spec.readonly, spec.model, spec.serial, spec.bus_path, spec.symlinks[0],
    );
    Draft::new("runtime", "Disks.block.talos.dev", &disk.name, "block.DisksController", &spec, yaml)
}

fn system(node: &Node) -> Option<&DiskSpec> {
    node.machine.disks.iter().find(|disk| disk.system)
}

fn system_disk(node: &Node) -> Option<Draft> {
    let disk = system(node)?;
    let dev_path = format!("/dev/{}", disk.name);
    let yaml = format!("diskID: {}\ndevPath: {dev_path}\n", disk.name);
    let spec = specs::SystemDisk { disk_id: disk.name.clone(), dev_path };
    Some(Draft::new("runtime", "SystemDisks.block.talos.dev", "system-disk", "block.SystemDiskController", &spec, yaml))
}

/// Partitions as Talos lays them out on the system disk.
const PARTITIONS: [(u32, &str, u64); 6] =
    [(1, "EFI", 105 << 20), (2, "BIOS", 1 << 20), (3, "BOOT", 1 << 30), (4, "META", 1 << 20), (5, "STATE", 100 << 20), (6, "EPHEMERAL", 18 << 30)];

fn discovered(node: &Node) -> Vec<Draft> {
    let Some(disk) = system(node) else { return Vec::new() };
    let draft = |(index, label, size): (u32, &str, u64)| {
        let spec = specs::DiscoveredVolume {
            size,
            name: if label == "STATE" || label == "EPHEMERAL" { "xfs" } else { "" }.to_owned(),
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
        Draft::new("runtime", "DiscoveredVolumes.block.talos.dev", &id, "block.DiscoveryController", &spec, yaml)
    };
    PARTITIONS.into_iter().map(draft).collect()
}

struct Volume {
    id: String,
    user: bool,
    phase: (i32, &'static str),
    kind: (i32, &'static str),
    location: String,
    parent: String,
    size: u64,
    target: String,
}

const WAITING: (i32, &str) = (0, "waiting");
const MISSING: (i32, &str) = (2, "missing");
const READY: (i32, &str) = (6, "ready");
const PARTITION: (i32, &str) = (0, "partition");
const DIRECTORY: (i32, &str) = (3, "directory");
const SYMLINK: (i32, &str) = (4, "symlink");

fn volumes(node: &Node) -> Vec<Volume> {
    let (configured, control_plane) = node.read(|state| (state.config.is_some(), state.is_control_plane()));
    let container = node.machine.spec.container;
    let disk = system(node).map(|disk| disk.name.clone()).unwrap_or_default();
    let partition = |id: &str, index: usize, target: &str, phase| {
        let on_disk = !container && phase == READY;
        Volume {
            id: id.to_owned(),
            user: false,
            phase,
            kind: if container && id != "META" { DIRECTORY } else { PARTITION },
            location: if on_disk { format!("/dev/{disk}{index}") } else { String::new() },
            parent: if on_disk { disk.clone() } else { String::new() },
            size: if on_disk { PARTITIONS[index - 1].2 } else { 0 },
            target: target.to_owned(),
        }
    };
    let mut volumes = vec![partition("META", 4, "", if container { WAITING } else { READY })];
    if !configured {
        volumes.push(partition("STATE", 5, "/system/state", if container { READY } else { MISSING }));
        return volumes;
    }
    volumes.push(partition("STATE", 5, "/system/state", READY));
    volumes.push(partition("EPHEMERAL", 6, "/var", READY));
    for (id, target, only_control_plane) in DIRECTORIES {
        if control_plane || !only_control_plane {
            volumes.push(directory(id, target));
        }
    }
    for name in &node.machine.spec.user_volumes {
        volumes.push(Volume {
            id: format!("u-{name}"),
            user: true,
            phase: READY,
            kind: PARTITION,
            location: "/dev/sdb1".to_owned(),
            parent: "sdb".to_owned(),
            size: 10 << 30,
            target: format!("/var/mnt/{name}"),
        });
    }
    volumes
}

/// Directories of a configured machine: ID, path below its parent, only on control planes.
const DIRECTORIES: [(&str, &str, bool); 15] = [
    ("/var/lib", "lib", false),
    ("/var/lib/cni", "cni", false),
    ("/var/lib/kubelet/seccomp", "seccomp", false),
    ("/var/lib/kubelet/seccomp/profiles", "profiles", false),
    ("/var/log/audit", "audit", false),
    ("/var/log/audit/kube", "kube", true),
    ("/var/log/containers", "containers", false),
    ("/var/log/pods", "pods", false),
    ("/var/mnt", "mnt", false),
    ("/var/run", "/var/run", false),
    ("/var/run/lock", "lock", false),
    ("CRI", "containerd", false),
    ("ETCD", "etcd", true),
    ("KUBELET", "kubelet", false),
    ("LOG", "log", false),
];

fn directory(id: &str, target: &str) -> Volume {
    Volume {
        id: id.to_owned(),
        user: false,
        phase: READY,
        kind: if id == "/var/run" { SYMLINK } else { DIRECTORY },
        location: String::new(),
        parent: String::new(),
        size: 0,
        target: target.to_owned(),
    }
}

impl Volume {
    fn draft(&self) -> Draft {
        let spec = specs::VolumeStatus {
            phase: self.phase.0,
            location: self.location.clone(),
            size: self.size,
            r#type: self.kind.0,
            parent_id: self.parent.clone(),
            ..specs::VolumeStatus::default()
        };
        let mut yaml = format!("phase: {}\ntype: {}\n", self.phase.1, self.kind.1);
        if !self.location.is_empty() {
            yaml.push_str(&format!(
                "location: {}\nparentID: {}\nsize: {}\nfilesystem: xfs\n",
                self.location, self.parent, self.size
            ));
        }
        if !self.target.is_empty() && self.phase == READY {
            yaml.push_str(&format!(
                "mountSpec:\n    targetPath: {}\n    selinuxLabel: \"\"\n    projectQuotaSupport: false\n    fileMode: 448\n",
                self.target
            ));
        }
        let mut draft = Draft::new("runtime", "VolumeStatuses.block.talos.dev", &self.id, "block.VolumeManagerController", &spec, yaml);
        let label = if self.user { "talos.dev/user-volume" } else { "talos.dev/system-volume" };
        draft.labels.push((label, String::new()));
        draft
    }
}
