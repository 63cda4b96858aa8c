//! What `docs/admission.md` says beside the table of rules: the policies and the warnings. Both lists are compared with
//! what there is.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

struct Policy {
    name: &'static str,
    /// What it asks, and of whom.
    asks: &'static str,
    /// What its refusal says.
    says: &'static str,
}

const POLICIES: [Policy; 10] = [
    Policy {
        name: "ichor-reclaim",
        asks: "verb `reclaim` of who creates a MachineReclaim or changes its spec; consent follows inspection",
        says: "the verb \"reclaim\" on machinereclaims.ichor.maesh.dev is missing",
    },
    Policy {
        name: "ichor-approve",
        asks: "verb `approve` of who approves a TalosMachine, changes what was approved or abandons one",
        says: "needs verb \"approve\" on talosmachines.ichor.maesh.dev (role ichor-approver has it)",
    },
    Policy {
        name: "ichor-access",
        asks: "verb `approve` of who decides a TalosAccessRequest, which is never whoever asked",
        says: "needs verb \"approve\" on talosaccessrequests.ichor.maesh.dev (role ichor-approver has it)",
    },
    Policy {
        name: "ichor-wipe",
        asks: "verb `wipe` on talosmachines of who creates a TalosOperation of kind reset, remove, replaceControlPlane or etcdRestore",
        says: "needs verb \"wipe\" on talosmachines.ichor.maesh.dev (role ichor-admin has it)",
    },
    Policy {
        name: "ichor-used-secrets",
        asks: "verb `get` on each Secret that Ichor will read for the caller: talosconfig, bundle, credentials of a bucket, what opens a snapshot",
        says: "so Ichor does not use it for them: needs verb \"get\" on secrets",
    },
    Policy {
        name: "ichor-owners",
        asks: "verb `update` of who patches a TalosCluster beyond discovery.addresses, or the spec of a TalosEtcdBackup",
        says: "beyond spec.discovery.addresses: the verb \"update\" on it is missing. The role ichor-admin has it",
    },
    Policy {
        name: "ichor-images",
        asks: "verb `update` on the TalosCluster of who creates an upgrade that names an install image",
        says: "may not name an install image: the verb \"update\" on talosclusters.ichor.maesh.dev",
    },
    Policy {
        name: "ichor-secrets",
        asks: "that who may not `update` Secrets of Ichor's namespace creates talosconfigs only",
        says: "may create only Secrets of type ichor.maesh.dev/talosconfig",
    },
    Policy {
        name: "ichor-status-writers",
        asks: "that a status is written by the controller's account",
        says: "it is the record of the controller (service account ichor-controller in namespace ichor-system)",
    },
    Policy {
        name: "ichor-requesters",
        asks: "that the annotations requested-by, requested-by-uid, decided-by and request-id are what admission writes",
        says: "is set by admission and cannot be set or changed by hand",
    },
];

/// Kind, the warning's function, when it comes, and what it says; … is what differs.
const WARNINGS: [(&str, &str, &str, &str); 23] = [
    (
        "MachineReclaim",
        "force",
        "force without the cluster's name",
        "spec.force has no effect until spec.confirmClusterName holds the name of the cluster",
    ),
    (
        "MachineReclaim",
        "confirm_cluster_name",
        "a cluster's name without force, or of another cluster",
        "spec.confirmClusterName has no effect without spec.force",
    ),
    (
        "MachineReclaim",
        "force_ungraceful",
        "forceUngraceful of a control plane",
        "spec.forceUngraceful: the machine does not leave etcd; its member … stays and has to be removed by hand",
    ),
    (
        "MachineReclaim",
        "confirm_uuid",
        "the UUID of another machine",
        "spec.confirmUUID … is not the UUID of the machine, …: nothing is wiped",
    ),
    (
        "MachineReclaim",
        "ended",
        "a change of a request that has ended",
        "this request has ended (…), so the change has no effect: create another MachineReclaim",
    ),
    (
        "TalosMachine",
        "fingerprint",
        "approval with another fingerprint than the machine shows",
        "spec.maintenanceFingerprint is not what the machine shows now, …: no configuration is sent until they are the same",
    ),
    (
        "TalosMachine",
        "shared_uuid",
        "approval of a UUID that is no machine's own",
        "the UUID … is one that vendors leave on many boards: another machine may have it too",
    ),
    (
        "TalosMachine",
        "abandoned",
        "the annotation abandon",
        "…=true: when this machine is deleted it goes on running with its configuration and keys; ichor node remove wipes it",
    ),
    (
        "TalosOperation",
        "waits",
        "another operation on the cluster",
        "operation \"…\" (…) on this cluster is not finished (phase \"…\")",
    ),
    (
        "TalosOperation",
        "snapshot",
        "a snapshot that is not listed, or of another cluster",
        "status.snapshots of the TalosEtcdBackup does not list …: the restore pauses if it is not at its destination",
    ),
    (
        "TalosOperation",
        "retry",
        "the annotation retry in a file that is applied",
        "… is in a file: every time it is applied, a failed step runs again. Take it out and ask once: ichor operation resume NAME",
    ),
    (
        "TalosOperation",
        "retry_value",
        "another value of it than true",
        "… is ignored; only \"…\" asks for a retry",
    ),
    (
        "TalosCluster",
        "contract",
        "another versionContract",
        "spec.versionContract changes from … to …: the configuration of every machine is rendered anew",
    ),
    (
        "TalosCluster",
        "abandoned",
        "the annotation abandon",
        "…=true: when this cluster is deleted its machines go on running, and nobody manages them",
    ),
    (
        "TalosCluster",
        "without_an_operation",
        "a newer version than machines run",
        "… is now … and machines run …: the edit upgrades none of them in order; a TalosOperation of kind … does",
    ),
    (
        "TalosConfigPatch",
        "still_broken",
        "a change of a patch that was stored with a fault",
        "the patch was stored with a fault and still has it: …",
    ),
    (
        "TalosAccessRequest",
        "admin",
        "role os:admin",
        "os:admin can wipe nodes and read every Secret, and cannot be taken back for …: os:reader is enough to look, os:operator to reboot and upgrade",
    ),
    (
        "TalosEtcdBackup",
        "unencrypted",
        "no encryption",
        "spec.encryption is absent: a snapshot holds every Secret of the cluster, readable for whoever reads the destination",
    ),
    (
        "TalosEtcdBackup",
        "backup_now",
        "the annotation backup-now in a file that is applied",
        "… is in a file: a snapshot is taken every time it is applied. Take it out and ask once",
    ),
    (
        "TalosEtcdBackup",
        "often",
        "snapshots every few minutes",
        "spec.schedule … takes snapshots …m apart: each reads all of etcd, and the next waits while one is taken",
    ),
    (
        "TalosStorage",
        "system_disk",
        "a selector that says nothing of the system disk",
        "volume … may be put on the system disk, too; add !system_disk to its diskSelector to keep them apart",
    ),
    (
        "TalosStorage",
        "taken_out",
        "a volume less",
        "volume … is taken out of the list and not wiped: its data stays on the disks",
    ),
    (
        "TalosStorage",
        "perhaps_taken",
        "a volume of the same name for machines that labels or roles select",
        "TalosStorage … has a volume …, too: no machine may be selected by both",
    ),
];

/// Both as sections of the document.
pub fn text() -> String {
    let policies = POLICIES.iter().map(|policy| {
        let Policy { name, asks, says } = policy;
        format!("| `{name}` | {asks} | {says} |\n")
    });
    let warnings = WARNINGS
        .iter()
        .map(|(kind, _, when, says)| format!("| {kind} | {when} | {says} |\n"));
    let (policies, warnings): (String, String) = (policies.collect(), warnings.collect());
    format!(
        "
## Policies

ValidatingAdmissionPolicies of the same manifests. The API server asks them itself, before the webhook and also while the
webhook is down or its configurations are gone; a verb is that of the caller, by the API server's own authorizer.

| policy | asks | says |
|---|---|---|
{policies}
## Warnings

What is legal and probably not meant is admitted, and kubectl prints a warning; … stands for what differs.

| kind | when | warning |
|---|---|---|
{warnings}"
    )
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn the_document_lists_every_policy_and_what_it_says() -> Result<()> {
    let folder = ichor_ground::paths::workspace().join("manifests/base/admission");
    let mut found = Vec::new();
    files(&folder, &mut found)?;
    let mut there = BTreeSet::new();
    for file in found {
        let text = fs::read_to_string(file)?;
        let policies = text
            .split("\n---\n")
            .filter(|text| text.contains("kind: ValidatingAdmissionPolicy\n"));
        for policy in policies {
            let name = policy
                .split("\n  name: ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let name = name.context("a policy without a name")?.to_owned();
            let listed = POLICIES.iter().find(|one| one.name == name);
            let says = listed
                .with_context(|| format!("{name} is not listed"))?
                .says;
            ensure!(policy.contains(says), "{name} does not say {says:?}");
            there.insert(name);
        }
    }
    ensure!(there.len() == POLICIES.len(), "only {there:?}");
    Ok(())
}

#[test]
fn the_document_lists_every_warning_and_what_it_says() -> Result<()> {
    let sources = ichor_ground::paths::workspace().join("webhook/src");
    let mut listed = 0;
    for entry in fs::read_dir(&sources)? {
        let folder = entry?.path();
        let Ok(text) = fs::read_to_string(folder.join("mod.rs")) else {
            continue;
        };
        let Some((_, after)) = text.split_once("const WARNINGS: &'static [Warning<Self>] =") else {
            continue;
        };
        let (_, kind) = text
            .split_once("const KIND: &'static str = \"")
            .context("a kind")?;
        let kind = kind.split('"').next().unwrap_or_default();
        let names = after
            .split([']', '['])
            .nth(1)
            .unwrap_or_default()
            .split(',')
            .map(str::trim);
        let names: BTreeSet<&str> = names
            .filter_map(|path| path.rsplit("::").next())
            .filter(|name| !name.is_empty())
            .collect();
        let own: BTreeSet<&str> = WARNINGS
            .iter()
            .filter(|row| row.0 == kind)
            .map(|row| row.1)
            .collect();
        ensure!(
            names == own,
            "{kind} has {names:?}, and the document lists {own:?}"
        );
        listed += own.len();
        let mut found = Vec::new();
        files(&folder, &mut found)?;
        let all: Result<Vec<String>, _> = found.iter().map(fs::read_to_string).collect();
        let all = all?.concat().replace("\\\"", "\"");
        for (_, name, _, says) in WARNINGS.iter().filter(|row| row.0 == kind) {
            let missing = says.split('…').find(|part| !all.contains(part));
            ensure!(
                missing.is_none(),
                "{kind}, {name}: no {missing:?} in the sources"
            );
        }
    }
    ensure!(listed == WARNINGS.len(), "only {listed} were looked at");
    Ok(())
}
