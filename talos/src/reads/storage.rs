//! Disks and volumes.

use crate::connection::Connection;
use crate::error::TalosError;
use crate::model::{DiscoveredVolume, Disk, Volume};
use crate::proto::specs;
use crate::resource::Type;

const VOLUMES: Type = Type {
    namespace: "runtime",
    name: "VolumeStatuses.block.talos.dev",
};
const DISCOVERED: Type = Type {
    namespace: "runtime",
    name: "DiscoveredVolumes.block.talos.dev",
};
const DISKS: Type = Type {
    namespace: "runtime",
    name: "Disks.block.talos.dev",
};
const SYSTEM_DISK: Type = Type {
    namespace: "runtime",
    name: "SystemDisks.block.talos.dev",
};

/// Phases of a volume, by their number on the wire.
pub(crate) const PHASES: [&str; 8] = [
    "waiting",
    "failed",
    "missing",
    "located",
    "provisioned",
    "prepared",
    "ready",
    "closed",
];

impl Connection {
    /// The volumes that Talos manages, system volumes and user volumes.
    pub async fn volumes(&self) -> Result<Vec<Volume>, TalosError> {
        let volumes: Vec<(String, specs::VolumeStatus)> = self.list(VOLUMES).await?;
        Ok(volumes
            .into_iter()
            .map(|(name, spec)| Volume {
                name,
                phase: usize::try_from(spec.phase)
                    .ok()
                    .and_then(|at| PHASES.get(at))
                    .copied()
                    .unwrap_or("unknown"),
                location: spec.location,
                parent: spec.parent_location,
                size: spec.size,
            })
            .collect())
    }

    /// The disks and partitions that Talos sees, whoever made them.
    pub async fn discovered_volumes(&self) -> Result<Vec<DiscoveredVolume>, TalosError> {
        let volumes: Vec<(String, specs::DiscoveredVolume)> = self.list(DISCOVERED).await?;
        Ok(volumes
            .into_iter()
            .map(|(device, spec)| DiscoveredVolume {
                device,
                kind: spec.r#type,
                content: spec.name,
                label: spec.label,
                partition_label: spec.partition_label,
                parent: spec.parent,
                size: spec.size,
            })
            .collect())
    }

    /// The disks, without CD drives.
    pub async fn disks(&self) -> Result<Vec<Disk>, TalosError> {
        let system: Option<specs::SystemDisk> = self.get(SYSTEM_DISK, "system-disk").await?;
        let system = system.map(|system| system.dev_path);
        let disks: Vec<(String, specs::Disk)> = self.list(DISKS).await?;
        Ok(disks
            .into_iter()
            .filter(|(_, spec)| !spec.cdrom)
            .map(|(_, spec)| Disk {
                system: system.as_deref() == Some(spec.dev_path.as_str()),
                device: spec.dev_path,
                model: spec.model,
                serial: spec.serial,
                size: spec.size,
                readonly: spec.readonly,
            })
            .collect())
    }
}
