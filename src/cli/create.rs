//! `kubectl create machinereclaim ADDRESS --cluster NAME`: only creates, and prints what `kubectl create`
//! prints.

use super::connect::ConnectArgs;
use super::errors;
use super::output::{self, OutputFormat, resource_name};
use crate::actions::reclaim::{Credential, ReclaimRequest, create_reclaim};
use clap::Parser;
use ichor_crds::{MachineReclaim, NodeAddress};
use std::process::ExitCode;

/// Ask Ichor to wipe a machine, so that it comes back in maintenance mode.
///
/// Only the request is created: Ichor dials the machine, shows in the request's status what it is and what a
/// wipe would destroy, and waits until a person has typed the machine's UUID into spec.confirmUUID. "ichor
/// machine reclaim" does all of it in one go. Needs verb "reclaim" on machinereclaims.ichor.maesh.dev, which
/// the role ichor-operator has.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-create-machinereclaim",
    bin_name = "kubectl create machinereclaim",
    version,
    after_long_help = "Examples:
  # An orphan of the managed cluster prod, dialled with the cluster's own credentials
  kubectl create machinereclaim 10.5.0.7 --cluster prod
  kubectl get machinereclaims -n ichor-system
  kubectl patch machinereclaim NAME -n ichor-system --type merge -p '{\"spec\":{\"confirmUUID\":\"UUID\"}}'

  # A machine of another cluster, dialled with the talosconfig that a Secret holds
  kubectl create machinereclaim 10.5.0.7 --credential-secret lab-talosconfig

  # Ask the API server and Ichor's webhook whether it would be admitted, and create nothing
  kubectl create machinereclaim 10.5.0.7 --cluster prod --dry-run=server

Exit codes: 0 created, 1 refused or failed, 2 wrong usage."
)]
pub struct CreateCli {
    /// IP address of the machine.
    #[arg(value_name = "ADDRESS")]
    address: NodeAddress,
    /// The TalosCluster whose configuration the machine carries; without --credential-secret its credentials are used.
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "credential_secret"
    )]
    cluster: Option<String>,
    /// Secret of type ichor.maesh.dev/talosconfig whose talosconfig is used to dial the machine; you must be allowed to get it.
    #[arg(long, value_name = "NAME")]
    credential_secret: Option<String>,
    /// Wipe even if etcd loses quorum or its last control plane; needs the cluster's name in spec.confirmClusterName, too.
    #[arg(long)]
    force: bool,
    /// Wipe without letting the machine leave etcd first, for a control plane whose cluster does not answer.
    #[arg(long)]
    force_ungraceful: bool,
    /// Name of the request [default: reclaim- and five characters that the API server chooses].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// "client" prints the object without sending it, "server" lets the API server judge it and keep nothing.
    #[arg(long, value_enum, value_name = "none|client|server", hide_possible_values = true, default_value_t = DryRun::None,
          num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: DryRun,
    /// Print the object in this format.
    #[arg(
        short,
        long,
        value_name = "json|yaml|name",
        hide_possible_values = true
    )]
    output: Option<OutputFormat>,
    /// Context of the kubeconfig to use.
    #[arg(long, value_name = "CONTEXT", help_heading = "Connection")]
    context: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// What `--dry-run` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DryRun {
    None,
    Client,
    Server,
}

impl DryRun {
    /// What kubectl writes behind "created".
    fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// Creates the request.
pub fn main(args: &CreateCli) -> ExitCode {
    match create(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", errors::render(&error));
            ExitCode::FAILURE
        }
    }
}

fn create(args: &CreateCli) -> anyhow::Result<()> {
    let CreateCli {
        dry_run,
        output,
        context,
        connect,
        ..
    } = args;
    let wanted = args.request();
    let created = match dry_run {
        DryRun::Client => wanted,
        DryRun::None | DryRun::Server => {
            let runtime = super::runtime()?;
            runtime.block_on(async {
                let client = connect.warning_client(context.as_deref()).await?;
                create_reclaim(&client, &wanted, *dry_run == DryRun::Server)
                    .await
                    .map_err(anyhow::Error::from)
            })?
        }
    };
    if let Some(format) = output {
        return output::print(&created, *format);
    }
    println!("{} created{}", resource_name(&created), dry_run.suffix());
    Ok(())
}

impl CreateCli {
    fn request(&self) -> MachineReclaim {
        let credential = match &self.credential_secret {
            Some(name) => Credential::Secret(name.clone()),
            None => Credential::Cluster,
        };
        ReclaimRequest {
            address: self.address,
            cluster: self.cluster.clone(),
            credential,
            force: self.force,
            force_ungraceful: self.force_ungraceful,
            name: self.name.clone(),
        }
        .build(&self.connect.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use serde_json::json;

    fn parse(line: &str) -> Result<CreateCli, clap::Error> {
        let words = std::iter::once("kubectl-create-machinereclaim").chain(line.split(' '));
        CreateCli::try_parse_from(words)
    }

    #[test]
    fn flags_make_the_request() {
        for (line, want) in [
            (
                "10.5.0.7 --cluster prod",
                json!({"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true}),
            ),
            (
                "FC00:22::2 --credential-secret lab",
                json!({"address": "fc00:22::2", "credentialSecretRef": {"name": "lab"}}),
            ),
            (
                "10.5.0.7 --cluster prod --force --force-ungraceful -n other",
                json!({"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true,
                       "force": true, "forceUngraceful": true}),
            ),
        ] {
            let request = parse(line).expect(line).request();
            assert_eq!(
                serde_json::to_value(request.spec).expect("JSON"),
                want,
                "{line}"
            );
        }
    }

    #[test]
    fn wrong_usage_is_found_before_anything_is_sent() {
        for (line, kind) in [
            ("10.5.0.7", ErrorKind::MissingRequiredArgument),
            ("worker-7 --cluster prod", ErrorKind::ValueValidation),
            ("10.5.0.7:50000 --cluster prod", ErrorKind::ValueValidation),
            (
                "10.5.0.7 --cluster prod --as-group g",
                ErrorKind::MissingRequiredArgument,
            ),
            (
                "10.5.0.7 --cluster prod --dry-run=maybe",
                ErrorKind::InvalidValue,
            ),
            ("10.5.0.7 --cluster prod -o wide", ErrorKind::InvalidValue),
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!((error.kind(), error.exit_code()), (kind, 2), "{line}");
        }
    }

    #[test]
    fn dry_run_reads_as_kubectl_reads_it() {
        for (line, want) in [
            ("10.5.0.7 --cluster prod", DryRun::None),
            ("10.5.0.7 --cluster prod --dry-run=none", DryRun::None),
            ("10.5.0.7 --cluster prod --dry-run=server", DryRun::Server),
            ("10.5.0.7 --cluster prod --dry-run=client", DryRun::Client),
            ("10.5.0.7 --cluster prod --dry-run", DryRun::Client),
        ] {
            assert_eq!(parse(line).expect(line).dry_run, want, "{line}");
        }
    }
}
