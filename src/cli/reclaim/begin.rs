//! The request: created as the person, or taken up by its name.

use super::super::screen::{Label, Line, Screen};
use super::args::ReclaimArgs;
use crate::actions::error::bounded;
use crate::actions::reclaim::{Credential, ReclaimRequest, create_reclaim};
use crate::actions::talosconfig::{self, StoredSecret, only_context};
use anyhow::Context as _;
use ichor_crds::{MachineReclaim, REQUESTED_BY};
use kube::{Api, Client};

/// A request to follow.
pub struct Begun {
    /// The request as it was created or found.
    pub request: MachineReclaim,
    /// Whether this command created it.
    pub created: bool,
}

/// Creates the request, or reads the one that `--request` names.
pub async fn begin(
    client: &Client,
    args: &ReclaimArgs,
    screen: &mut Screen,
) -> anyhow::Result<Begun> {
    let (request, created) = match &args.request {
        Some(name) => (found(client, args, name).await?, false),
        None => (create(client, args, screen).await?, true),
    };
    screen.say(&[Line::step(Label::Request, announce(&request, created))])?;
    Ok(Begun { request, created })
}

async fn found(client: &Client, args: &ReclaimArgs, name: &str) -> anyhow::Result<MachineReclaim> {
    let requests: Api<MachineReclaim> = Api::namespaced(client.clone(), &args.connect.namespace);
    Ok(bounded("reading the request", requests.get(name)).await?)
}

async fn create(
    client: &Client,
    args: &ReclaimArgs,
    screen: &mut Screen,
) -> anyhow::Result<MachineReclaim> {
    let stored = store_talosconfig(client, args).await?;
    let credential = match (&stored, &args.credential_secret) {
        (Some(stored), _) => Credential::Secret(stored.name.clone()),
        (None, Some(name)) => Credential::Secret(name.clone()),
        (None, None) => Credential::Cluster,
    };
    let wanted = ReclaimRequest {
        address: args.address.context("an address is needed")?,
        cluster: args.cluster.clone(),
        credential,
        force: args.force,
        force_ungraceful: args.force_ungraceful,
        name: None,
    };
    let created = create_reclaim(client, &wanted.build(&args.connect.namespace), false).await;
    match (created, stored) {
        (Ok(request), None) => Ok(request),
        (Ok(request), Some(stored)) => {
            // Without an owner the Secret would outlive the request: its keys must not stay behind unseen.
            if let Err(error) = stored.tie_to(&request).await {
                screen.say(&[Line::step(
                    Label::Warning,
                    left_behind(args, &stored, &error),
                )])?;
            }
            Ok(request)
        }
        (Err(error), None) => Err(error.into()),
        (Err(error), Some(stored)) => {
            if let Err(left) = stored.delete().await {
                screen.say(&[Line::step(
                    Label::Warning,
                    left_behind(args, &stored, &left),
                )])?;
            }
            Err(error.into())
        }
    }
}

/// Stores the one context of `--talosconfig` that is used, once it is known that it can be taken back.
async fn store_talosconfig(
    client: &Client,
    args: &ReclaimArgs,
) -> anyhow::Result<Option<StoredSecret>> {
    let Some(file) = &args.talosconfig else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("reading the talosconfig {}", file.display()))?;
    let narrowed = only_context(&text, args.context.as_deref())
        .with_context(|| format!("{} cannot be used", file.display()))?;
    let namespace = &args.connect.namespace;
    talosconfig::may_store(client, namespace).await?;
    Ok(Some(talosconfig::store(client, namespace, narrowed).await?))
}

fn left_behind(args: &ReclaimArgs, stored: &StoredSecret, error: &dyn std::error::Error) -> String {
    format!(
        "the talosconfig stays in a Secret of its own ({error}). When it is no longer needed: \
         kubectl delete secret {} -n {}",
        stored.name, args.connect.namespace
    )
}

/// `machinereclaim/reclaim-x7k2p created as alice`; the name is the one that admission recorded.
fn announce(request: &MachineReclaim, created: bool) -> String {
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let annotations = request.metadata.annotations.as_ref();
    let by = annotations.and_then(|all| all.get(REQUESTED_BY));
    let how = match (created, by) {
        (true, Some(user)) => format!("created as {user}"),
        (true, None) => "created".to_owned(),
        (false, Some(user)) => format!("for {}, created by {user}", request.spec.address),
        (false, None) => format!("for {}", request.spec.address),
    };
    format!("machinereclaim/{name} {how}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::MachineReclaimSpec;
    use std::collections::BTreeMap;

    #[test]
    fn a_request_is_announced_with_who_asked() {
        let spec = MachineReclaimSpec {
            address: "10.5.0.7".to_owned(),
            ..MachineReclaimSpec::default()
        };
        let mut request = MachineReclaim::new("reclaim-x7k2p", spec);
        assert_eq!(
            announce(&request, true),
            "machinereclaim/reclaim-x7k2p created"
        );
        let by = BTreeMap::from([(REQUESTED_BY.to_owned(), "alice".to_owned())]);
        request.metadata.annotations = Some(by);
        assert_eq!(
            announce(&request, true),
            "machinereclaim/reclaim-x7k2p created as alice"
        );
        assert_eq!(
            announce(&request, false),
            "machinereclaim/reclaim-x7k2p for 10.5.0.7, created by alice"
        );
    }
}
