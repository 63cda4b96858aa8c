//! Disks, file systems, and wiping a disk.

use std::sync::Arc;

use tonic::Status;

use super::unknown;
use crate::node::Node;
use crate::proto::{machine, storage as pb};
use crate::serve::{Reply, Request};

pub fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    match request.method() {
        "Disks" => Ok(disks(node)),
        "BlockDeviceWipe" => wipe(node, &request.message()?),
        "Statfs" => statfs(&request.message()?),
        _ => Err(unknown(request)),
    }
}

fn disks(node: &Node) -> Reply {
    let disks = node
        .machine
        .disks
        .iter()
        .map(|disk| pb::Disk {
            size: disk.size,
            model: disk.model.clone(),
            device_name: format!("/dev/{}", disk.name),
            name: disk.name.clone(),
            serial: disk.serial.clone(),
            r#type: pb::disk::DiskType::Ssd.into(),
            bus_path: "/pci0000:00/0000:00:05.0/virtio1/".to_owned(),
            system_disk: disk.system,
            subsystem: "/sys/class/block".to_owned(),
            readonly: disk.readonly,
            ..pb::Disk::default()
        })
        .collect();
    Reply::one(&pb::DisksResponse {
        messages: vec![pb::Disks {
            metadata: None,
            disks,
        }],
    })
}

fn wipe(node: &Node, request: &pb::BlockDeviceWipeRequest) -> Result<Reply, Status> {
    for wanted in &request.devices {
        let device = &wanted.device;
        let disk = node.machine.disks.iter().find(|disk| disk.name == *device);
        let disk =
            disk.ok_or_else(|| Status::not_found(format!("blockdevice \"{device}\" not found")))?;
        if disk.system {
            return Err(Status::failed_precondition(format!(
                "blockdevice \"{device}\" is in use by a volume"
            )));
        }
    }
    Ok(Reply::one(&pb::BlockDeviceWipeResponse {
        messages: vec![pb::BlockDeviceWipe { metadata: None }],
    }))
}

fn statfs(request: &machine::StatfsRequest) -> Result<Reply, Status> {
    if !["/", "/var", "/system/state"].contains(&request.path.as_str()) {
        return Err(Status::unknown("no such file or directory"));
    }
    Ok(Reply::one(&machine::StatfsResponse {
        size: 20 << 30,
        used: 4 << 30,
        available: 16 << 30,
        inodes: 1 << 20,
        inodes_used: 1 << 10,
        inodes_free: (1 << 20) - (1 << 10),
    }))
}
