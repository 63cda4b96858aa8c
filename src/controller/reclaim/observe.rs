//! What a reconcile reads of the API server, and of a machine whose reset is recorded.

use super::decide::{Snapshot, Wait};
use super::facts::{ApprovedMachine, Rival};
use super::inspect::{self, Source};
use super::stored::{self, Stored};
use super::trouble::Trouble;
use super::watching::Sight;
use crate::controller::context::Context;
use crate::controller::store::Guarded;
use crate::runtime::clock;
use ichor_certs::Role;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    IdentityMatch, MachineReclaim, NodeAddress, ResetRecord, SystemUuid, TalosMachine,
};
use ichor_talos::{Class, Connection, Fingerprint, Kind, TalosError};
use kube::ResourceExt;
use kube::core::DeserializeGuard;
use std::net::IpAddr;

/// The snapshot of one reconcile; `None` when the request is gone or cannot be decoded.
pub async fn snapshot(context: &Context, name: &str) -> Result<Option<Snapshot>, Trouble> {
    let found: Option<Guarded<MachineReclaim>> = context.requests.get_opt(name).await?;
    let Some(DeserializeGuard(Ok(request))) = found else {
        return Ok(None);
    };
    let cluster_found = match &request.spec.cluster_ref {
        Some(named) => context.clusters.find(&named.name).await?.is_some(),
        None => true,
    };
    Ok(Some(Snapshot {
        now: clock::now(),
        cluster_found,
        rivals: context.reclaims.collect(|other| Some(Rival::of(other))),
        request,
    }))
}

/// The other requests, read live: right before the record a cache is not enough (FAULTS 18).
pub async fn rivals_live(context: &Context) -> Result<Vec<Rival>, Trouble> {
    let all = stored::all(&context.requests_raw).await?.into_iter();
    all.map(|stored| match stored {
        Stored::Known(request) => Ok(Rival::of(&request)),
        Stored::Unreadable(name) => Err(Trouble::Wait(Wait::new(
            reason::NOT_READY,
            format!(
                "MachineReclaim {name} has a recorded reset and cannot be decoded, so whether it acts on this machine is not known; \
                 when its machine is done: kubectl delete machinereclaim {name} -n {}",
                context.namespace
            ),
        ))),
    })
    .collect()
}

/// The approved machines with this UUID in either byte order, read live: a machine may have been approved a moment ago.
/// TalosMachines are named by their UUID. One that cannot be decoded may be approved, so it is waited for.
pub async fn approved(
    context: &Context,
    uuid: Option<SystemUuid>,
) -> Result<Vec<ApprovedMachine>, Trouble> {
    let mut approved = Vec::new();
    let Some(uuid) = uuid else {
        return Ok(approved);
    };
    for name in [uuid.to_string(), uuid.swapped().to_string()] {
        match context.machines_live.get_opt(&name).await? {
            Some(DeserializeGuard(Ok(machine))) if machine.is_approved() => {
                approved.extend(view(&machine));
            }
            None | Some(DeserializeGuard(Ok(_))) => {}
            Some(DeserializeGuard(Err(_))) => {
                return Err(Trouble::Wait(Wait::new(
                    reason::NOT_READY,
                    format!(
                        "TalosMachine {name} cannot be decoded, so whether this machine is approved is not known"
                    ),
                )));
            }
        }
    }
    Ok(approved)
}

fn view(machine: &TalosMachine) -> Option<ApprovedMachine> {
    let node_name = machine
        .status
        .as_ref()
        .and_then(|status| status.node_name.clone());
    Some(ApprovedMachine {
        uuid: machine.name_any().parse().ok()?,
        name: machine
            .spec
            .hostname
            .clone()
            .or(node_name)
            .unwrap_or_else(|| machine.name_any()),
        cluster: machine
            .spec
            .cluster_ref
            .as_ref()
            .map(|cluster| cluster.name.clone())
            .unwrap_or_default(),
    })
}

/// Looks at a machine whose reset is recorded: at its address, and where discovery saw the same identity.
pub async fn sight(
    context: &Context,
    request: &MachineReclaim,
    record: &ResetRecord,
    address: IpAddr,
) -> Sight {
    let source = inspect::source(context, &request.spec).await.ok();
    let here = Box::pin(at_address(context, source.as_ref(), address)).await;
    let is_ours = |identity| record.identity.compare(identity) == IdentityMatch::Same;
    match &here {
        Sight::Maintenance { identity, .. } if is_ours(identity) => here,
        // On another boot it may be what Ichor itself has made of it since.
        Sight::Configured {
            identity, boot_id, ..
        } if is_ours(identity) && *boot_id == record.boot_id => here,
        Sight::Configured { identity, .. } if is_ours(identity) => {
            Box::pin(taken_in(context, record)).await.unwrap_or(here)
        }
        _ => match elsewhere(context, record, address).await {
            Some(there) => there,
            None => Box::pin(taken_in(context, record)).await.unwrap_or(here),
        },
    }
}

async fn at_address(context: &Context, source: Option<&Source>, address: IpAddr) -> Sight {
    // Without its credential, only what anybody can see is left.
    let Some(source) = source else {
        return in_maintenance(context, address, None).await;
    };
    match context.dialer.connect(address, &source.credential).await {
        Ok(connection) => Box::pin(configured(&connection))
            .await
            .unwrap_or_else(|error| unseen(&error)),
        Err(error) if matches!(error.kind(), Kind::Maintenance | Kind::WrongCa) => {
            in_maintenance(context, address, None).await
        }
        Err(error) => unseen(&error),
    }
}

async fn configured(connection: &Connection) -> Result<Sight, TalosError> {
    let (identity, boot_id, stage) = tokio::try_join!(
        connection.identity(),
        connection.boot_id(),
        connection.stage()
    )?;
    Ok(Sight::Configured {
        identity: inspect::machine_identity(&identity),
        boot_id,
        stage,
    })
}

async fn in_maintenance(context: &Context, address: IpAddr, pin: Option<Fingerprint>) -> Sight {
    let seen = async {
        let connection = context.dialer.connect_maintenance(address, pin).await?;
        let identity = connection.identity().await?;
        // Maintenance mode of older Talos does not give one.
        Ok((identity, connection.boot_id().await.ok().flatten()))
    };
    match Box::pin(seen).await {
        Ok((identity, boot_id)) => Sight::Maintenance {
            identity: inspect::machine_identity(&identity),
            address: address.to_string(),
            boot_id,
        },
        Err(error) => unseen(&error),
    }
}

fn unseen(error: &TalosError) -> Sight {
    match error.class() {
        Class::Unreachable => Sight::Silence,
        _ => Sight::Unclear,
    }
}

/// "A machine that returns at another address completes it when discovery sees the same identity" (DESIGN section 18,
/// decision 15): the TalosMachine with this identity, approved by now or not, says where to look. What it says is read
/// again from the machine itself, under the fingerprint that discovery saw.
async fn elsewhere(context: &Context, record: &ResetRecord, not: IpAddr) -> Option<Sight> {
    let places = context
        .machines
        .collect(|machine| place(machine, record, not));
    for (address, fingerprint) in places {
        let sight = in_maintenance(context, address, Some(fingerprint)).await;
        if let Sight::Maintenance { identity, .. } = &sight
            && record.identity.compare(identity) == IdentityMatch::Same
        {
            return Some(sight);
        }
    }
    None
}

fn place(
    machine: &TalosMachine,
    record: &ResetRecord,
    not: IpAddr,
) -> Option<(IpAddr, Fingerprint)> {
    if machine.spec.identity.compare(&record.identity) != IdentityMatch::Same {
        return None;
    }
    let fingerprint = machine
        .status
        .as_ref()?
        .maintenance_fingerprint
        .as_ref()?
        .parse()
        .ok()?;
    let address = machine.dial_endpoint()?.parse::<NodeAddress>().ok()?.ip();
    (address != not).then_some((address, fingerprint))
}

/// A machine that was seen by discovery, approved and configured before anybody looked here was back in maintenance mode in
/// between: its approved TalosMachine says that Ichor configured it after the record, and the machine itself, asked
/// where that says it is, runs on another boot.
async fn taken_in(context: &Context, record: &ResetRecord) -> Option<Sight> {
    let places = context
        .machines
        .collect(|machine| configured_since(machine, record));
    for (address, cluster) in places {
        let sight = Box::pin(anew(context, &cluster, address)).await;
        if let Some(Sight::TakenIn {
            identity, boot_id, ..
        }) = &sight
            && record.identity.compare(identity) == IdentityMatch::Same
            && boot_id.is_some()
            && *boot_id != record.boot_id
        {
            return sight;
        }
    }
    None
}

fn configured_since(machine: &TalosMachine, record: &ResetRecord) -> Option<(IpAddr, String)> {
    let same = machine.spec.identity.compare(&record.identity) == IdentityMatch::Same;
    let applied = machine.status.as_ref()?.applied_at.as_ref()?.0;
    let since = applied > record.recorded_at.as_ref()?.0;
    let cluster = machine.spec.cluster_ref.as_ref()?.name.clone();
    let address = machine.dial_endpoint()?.parse::<NodeAddress>().ok()?.ip();
    (same && since && machine.is_approved()).then_some((address, cluster))
}

async fn anew(context: &Context, cluster: &str, address: IpAddr) -> Option<Sight> {
    let cluster = context.clusters.named(cluster)?;
    let managed = context.clusters.managed(cluster).await.ok()?;
    let credential = context.clusters.credential(&managed, address, Role::Admin);
    let connection = context.dialer.connect(address, &credential.ok()?).await;
    let connection = connection.ok()?;
    let (identity, boot_id) = tokio::try_join!(connection.identity(), connection.boot_id()).ok()?;
    Some(Sight::TakenIn {
        identity: inspect::machine_identity(&identity),
        address: address.to_string(),
        boot_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{Approval, MachineIdentity, TalosMachineStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Option<Time> {
        Timestamp::from_second(second).ok().map(Time)
    }

    fn record() -> ResetRecord {
        ResetRecord {
            recorded_at: at(100),
            identity: MachineIdentity {
                uuid: "4c4c4544-0042-3510-8052-b4c04f463133".to_owned(),
                serial: "5B5RF13".to_owned(),
                macs: vec!["02:00:00:00:00:07".to_owned()],
            },
            boot_id: Some("boot-1".to_owned()),
            ..ResetRecord::default()
        }
    }

    fn machine(approval: Approval, applied_at: Option<Time>) -> TalosMachine {
        let identity = record().identity;
        let spec = serde_json::json!({
            "approval": approval, "clusterRef": {"name": "prod"}, "endpoint": "10.5.0.99", "identity": identity,
        });
        let spec = serde_json::from_value(spec).expect("a spec");
        let mut machine = TalosMachine::new(&identity.uuid, spec);
        machine.status = Some(TalosMachineStatus {
            maintenance_fingerprint: Some(
                "tXH9mqNnwn9Tj0RkSt5Zk6bXkHn1QW2jHrmSmBhwNzA=".to_owned(),
            ),
            applied_at,
            ..TalosMachineStatus::default()
        });
        machine
    }

    /// Discovery saw the identity; whether a person has approved it since is another matter.
    #[test]
    fn decision_15_a_machine_is_looked_for_where_discovery_saw_it() {
        let (old, new) = (IpAddr::from([10, 5, 0, 7]), IpAddr::from([10, 5, 0, 99]));
        for approval in [Approval::Pending, Approval::Approved, Approval::Rejected] {
            let seen = machine(approval, None);
            let address = place(&seen, &record(), old).map(|(address, _)| address);
            assert_eq!(address, Some(new), "{approval:?}");
            assert!(place(&seen, &record(), new).is_none(), "looked at already");
        }
        let mut other = machine(Approval::Pending, None);
        other.spec.identity.serial = "OTHER".to_owned();
        assert!(place(&other, &record(), old).is_none());
    }

    #[test]
    fn a_machine_that_ichor_configured_after_the_record_was_back() {
        for (what, machine, since) in [
            ("after", machine(Approval::Approved, at(101)), true),
            ("before", machine(Approval::Approved, at(99)), false),
            ("never", machine(Approval::Approved, None), false),
            ("not approved", machine(Approval::Pending, at(101)), false),
        ] {
            assert_eq!(
                configured_since(&machine, &record()).is_some(),
                since,
                "{what}"
            );
        }
    }
}
