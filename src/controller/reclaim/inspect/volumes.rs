//! What a reset of STATE and EPHEMERAL wipes, and what it leaves.

use super::printable;
use crate::controller::reclaim::trouble::Trouble;
use ichor_crds::VolumeView;
use ichor_talos::{Connection, Disk, Volume};

/// The labels that every reset of Ichor names (record 0136; FAULTS 24).
const WIPED: [&str; 2] = ["STATE", "EPHEMERAL"];
/// Most entries the CRD takes, of either.
const KEPT_MAX: usize = 256;
const WIPED_MAX: usize = 32;

/// What is wiped, and what is kept.
pub(super) async fn read(
    connection: &Connection,
) -> Result<(Vec<String>, Vec<VolumeView>), Trouble> {
    let (volumes, disks) = tokio::try_join!(connection.volumes(), connection.disks())?;
    Ok((wiped(&volumes), kept(&volumes, &disks)))
}

/// The partitions, then the user volumes that are directories: they lie on EPHEMERAL and go with it.
fn wiped(volumes: &[Volume]) -> Vec<String> {
    let partitions = WIPED.iter().map(|label| (*label).to_owned());
    let is_directory = |volume: &&Volume| {
        volume.name.starts_with("u-") && volume.location.is_empty() && volume.phase == "ready"
    };
    let directories = volumes
        .iter()
        .filter(is_directory)
        .map(|volume| printable(&format!("{} (a directory on EPHEMERAL)", volume.name), 256));
    partitions.chain(directories).take(WIPED_MAX).collect()
}

/// Volumes that are not wiped, then disks that hold none of the wiped ones.
fn kept(volumes: &[Volume], disks: &[Disk]) -> Vec<VolumeView> {
    let is_wiped = |volume: &Volume| WIPED.contains(&volume.name.as_str());
    let rest = volumes
        .iter()
        // A volume without a device is a directory on another one, or not there.
        .filter(|volume| !is_wiped(volume) && !volume.location.is_empty())
        .map(|volume| VolumeView {
            name: printable(&volume.name, 256),
            size: size(volume.size),
            description: Some(printable(&format!("volume on {}", volume.location), 256)),
        });
    let others = disks
        .iter()
        .filter(|disk| !disk.system && !disk.readonly)
        .map(|disk| VolumeView {
            name: printable(&disk.device, 256),
            size: size(disk.size),
            description: Some(printable(&description(disk, volumes), 256)),
        });
    rest.chain(others).take(KEPT_MAX).collect()
}

fn description(disk: &Disk, volumes: &[Volume]) -> String {
    let on_it: Vec<&str> = volumes
        .iter()
        .filter(|volume| volume.parent == disk.device || volume.location == disk.device)
        .map(|volume| volume.name.as_str())
        .collect();
    match (disk.model.as_str(), on_it.is_empty()) {
        ("", true) => "disk".to_owned(),
        ("", false) => format!("disk with {}", on_it.join(", ")),
        (model, true) => format!("disk {model}"),
        (model, false) => format!("disk {model} with {}", on_it.join(", ")),
    }
}

fn size(bytes: u64) -> Option<i64> {
    i64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_0136_the_inspection_lists_the_volumes_that_are_not_wiped() {
        let volume = |name: &str, location: &str, parent: &str| Volume {
            name: name.to_owned(),
            location: location.to_owned(),
            parent: parent.to_owned(),
            size: 100,
            ..Volume::default()
        };
        let disk = |device: &str, system: bool| Disk {
            device: device.to_owned(),
            size: 1_900,
            system,
            ..Disk::default()
        };
        let volumes = [
            volume("META", "/dev/sda4", "/dev/sda"),
            volume("STATE", "/dev/sda5", "/dev/sda"),
            volume("EPHEMERAL", "/dev/sda6", "/dev/sda"),
            volume("u-data", "/dev/nvme1n1p1", "/dev/nvme1n1"),
            volume("/var/log", "", ""),
            Volume {
                phase: "ready",
                ..volume("u-scratch", "", "")
            },
            Volume {
                phase: "waiting",
                ..volume("u-later", "", "")
            },
        ];
        let wiped = wiped(&volumes);
        assert_eq!(
            wiped,
            ["STATE", "EPHEMERAL", "u-scratch (a directory on EPHEMERAL)"]
        );
        let kept = kept(
            &volumes,
            &[disk("/dev/sda", true), disk("/dev/nvme1n1", false)],
        );
        let names: Vec<&str> = kept.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["META", "u-data", "/dev/nvme1n1"]);
        assert_eq!(kept[2].description.as_deref(), Some("disk with u-data"));
    }
}
