//! How a run of the command ends: registered, or with words about what goes on without it and how to follow.

use super::super::errors;
use super::super::outcome::Outcome;
use super::super::screen::{Label, Line, Screen, WIDE};
use crate::actions::inspection::role_name;
use crate::actions::register::{Registration, register_address};
use crate::actions::text::join;
use ichor_crds::{MachineReclaim, NodeAddress};
use kube::Client;

/// Registers the address of a reclaimed machine and says how to approve it (record 0136).
pub async fn done(
    client: &Client,
    request: &MachineReclaim,
    screen: &mut Screen,
) -> anyhow::Result<Outcome> {
    let status = request.status.clone().unwrap_or_default();
    let result = status
        .result
        .unwrap_or_else(|| "wiped and in maintenance mode".to_owned());
    // The line before this one said so, with more words.
    let result = result
        .strip_prefix("wiped and in maintenance mode; ")
        .map_or(result.clone(), str::to_owned);
    let Some(cluster) = request
        .spec
        .cluster_ref
        .as_ref()
        .map(|cluster| cluster.name.as_str())
    else {
        screen.say(&[Line::step(Label::Done, join(&[&result], WIDE))])?;
        return Ok(Outcome::Done);
    };
    // Where the machine is now is where it is to be found.
    let returned = status
        .progress
        .and_then(|progress| progress.returned_address);
    let address = returned.unwrap_or_else(|| request.spec.address.clone());
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    screen.wait("adding the address to discovery");
    let registered = match address.parse::<NodeAddress>() {
        Ok(address) => register_address(client, namespace, cluster, address)
            .await
            .map_err(|error| errors::render(&anyhow::Error::from(error))),
        Err(error) => Err(error.to_string()),
    };
    let registration = match registered {
        Ok(Registration::Added) => format!("{address} added to discovery of {cluster}"),
        Ok(Registration::Covered(entry)) if entry == address => {
            format!("{address} is in discovery of {cluster} already")
        }
        Ok(Registration::Covered(entry)) => {
            format!("discovery of {cluster} covers {address} already ({entry})")
        }
        Err(error) => {
            screen.say(&not_registered(
                &result, &address, cluster, namespace, &error,
            ))?;
            return Ok(Outcome::Failed);
        }
    };
    screen.say(&[
        Line::step(Label::Done, join(&[&result, &registration], WIDE)),
        Line::Plain(String::new()),
        Line::Plain(format!(
            "Approve it when it appears:  {}",
            approve_command(request)
        )),
    ])?;
    Ok(Outcome::Done)
}

/// The wipe worked, the last step did not: said apart, so that nobody wipes again.
fn not_registered(
    result: &str,
    address: &str,
    cluster: &str,
    namespace: &str,
    error: &str,
) -> Vec<Line> {
    let edit = format!(
        "{address} was not added to discovery of {cluster}: {error}\n\
         The machine is wiped; it is only not looked for yet. Somebody who may change the cluster can add it:\n  \
         kubectl edit taloscluster {cluster} -n {namespace}   (spec.discovery.addresses)"
    );
    vec![
        Line::step(Label::Done, join(&[result], WIDE)),
        Line::step(Label::Failed, edit),
    ]
}

fn approve_command(request: &MachineReclaim) -> String {
    let inspection = request
        .status
        .as_ref()
        .and_then(|status| status.inspection.as_ref());
    let uuid = inspection.map_or("UUID", |seen| seen.identity.uuid.as_str());
    let role = inspection
        .and_then(|seen| seen.role)
        .map_or("ROLE", role_name);
    format!("ichor machine approve {uuid} --role {role}")
}

/// The command is leaving while the controller goes on.
pub fn goes_on(request: &MachineReclaim, why: &str) -> Vec<Line> {
    let sent = request
        .status
        .as_ref()
        .is_some_and(|status| status.reset.is_some());
    let what = if sent {
        "the wipe goes on without this command and cannot be recalled"
    } else if request.spec.confirm_uuid.is_some() {
        "the request is confirmed: Ichor goes on without this command and will wipe the machine"
    } else {
        "Ichor goes on inspecting without this command; nothing is wiped before somebody types the UUID"
    };
    vec![Line::step(
        Label::Waiting,
        format!("{why}; {what}.\n{}", follow(request)),
    )]
}

/// The request waits for a person and this command has none.
pub fn waits_for_a_person(request: &MachineReclaim, why: &str) -> Vec<Line> {
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    let forced = request.spec.force == Some(true);
    let cluster = if forced {
        ",\"confirmClusterName\":\"CLUSTER\""
    } else {
        ""
    };
    let text = format!(
        "{why}; nothing was wiped. The request waits for the UUID. Go on with\n  \
         {resume}\nor\n  \
         kubectl patch machinereclaim {name} -n {namespace} --type merge -p '{{\"spec\":{{\"confirmUUID\":\"UUID\"{cluster}}}}}'\n\
         or drop it with\n  kubectl delete machinereclaim {name} -n {namespace}",
        resume = resume_command(request),
    );
    vec![Line::step(Label::Waiting, text)]
}

/// The request was deleted while it was followed.
pub fn gone(request: &MachineReclaim) -> Vec<Line> {
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let sent = request
        .status
        .as_ref()
        .is_some_and(|status| status.reset.is_some());
    let text = if sent {
        format!(
            "machinereclaim/{name} was deleted; its reset was recorded before, and deleting recalls nothing that was sent"
        )
    } else {
        format!("machinereclaim/{name} was deleted before anything was sent to wipe the machine")
    };
    vec![Line::step(Label::Failed, text)]
}

fn follow(request: &MachineReclaim) -> String {
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    format!(
        "Follow it with\n  {}\nor\n  kubectl get machinereclaim {name} -n {namespace} --watch",
        resume_command(request)
    )
}

/// The command that shows the request again and goes on with it.
pub fn resume_command(request: &MachineReclaim) -> String {
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    let elsewhere = if namespace == "ichor-system" {
        String::new()
    } else {
        format!(" -n {namespace}")
    };
    format!("ichor machine reclaim --request {name}{elsewhere}")
}

#[cfg(test)]
#[path = "finish_tests.rs"]
mod tests;
