//! The flags of `ichor machine reclaim`, and a help from which a newcomer can work.

use crate::cli::connect::ConnectArgs;
use crate::cli::output::OutputFormat;
use crate::runtime::duration;
use ichor_crds::NodeAddress;
use std::path::PathBuf;
use std::time::Duration;

/// What the command does, before its flags.
pub const LONG_ABOUT: &str = "\
Wipe a machine, so that it comes back in maintenance mode.

For an orphan: a machine that carries the configuration of a cluster Ichor manages, but has no approved
TalosMachine, so that it can neither be managed nor be added. With --talosconfig also for a machine of a
cluster that Ichor does not manage.

What happens:
  1. A MachineReclaim is created as you, and judged: you need verb \"reclaim\" on
     machinereclaims.ichor.maesh.dev (role ichor-operator has it).
  2. Ichor's controller dials the machine and shows what it is, which volumes a wipe destroys, which it
     keeps, and what speaks against it. Nothing on the machine has changed so far.
  3. You type the machine's UUID (and with --force the cluster's name). That is your consent.
  4. The machine is reset once: it leaves etcd if it is a control plane, STATE and EPHEMERAL are wiped, and it
     reboots into maintenance mode. Its Kubernetes Node is deleted, if that is the same machine.
  5. Its address is added to the cluster's discovery, where Ichor will look for it (this version does not yet).

The controller does the work. This command may end or lose its connection at any time: the request stays, and
--request NAME shows it again and goes on.";

/// Arguments of `ichor machine reclaim`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "ichor machine reclaim ADDRESS --cluster NAME [OPTIONS]
       ichor machine reclaim ADDRESS --talosconfig FILE [--context CONTEXT] [--cluster NAME] [OPTIONS]
       ichor machine reclaim --request NAME [OPTIONS]",
    after_long_help = "Examples:
  # An orphan of the managed cluster prod, dialled with the cluster's own credentials
  ichor machine reclaim 10.5.0.7 --cluster prod

  # A machine of another cluster, dialled with a talosconfig of yours
  ichor machine reclaim 10.5.0.7 --talosconfig ~/.talos/config --context lab

  # The same, to be found by the managed cluster prod afterwards
  ichor machine reclaim 10.5.0.7 --talosconfig ~/.talos/config --context lab --cluster prod

  # Go on with a request that was created before
  ichor machine reclaim --request reclaim-x7k2p

  # From a script: the UUID is read from standard input, the object is printed at the end
  echo \"$UUID\" | ichor machine reclaim 10.5.0.7 --cluster prod --timeout 30m -o json

Exit codes:
  0  done: wiped, in maintenance mode, and registered
  1  failed or refused
  2  wrong usage
  3  waiting for a person: nothing is wiped until somebody types the UUID
  4  --timeout passed, or Ctrl-C was pressed, while the reclaim goes on"
)]
pub struct ReclaimArgs {
    /// IP address of the machine.
    #[arg(value_name = "ADDRESS", required_unless_present = "request")]
    pub address: Option<NodeAddress>,
    /// The managed cluster: its credentials are used unless others are given, and its discovery gets the address.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["talosconfig", "credential_secret", "request"])]
    pub cluster: Option<String>,
    /// Dial the machine with a talosconfig; only the context that is used is stored, in a Secret that goes with the request.
    #[arg(long, value_name = "FILE", conflicts_with = "credential_secret")]
    pub talosconfig: Option<PathBuf>,
    /// Context of the talosconfig [default: its current one].
    #[arg(long, value_name = "CONTEXT", requires = "talosconfig")]
    pub context: Option<String>,
    /// Dial the machine with the talosconfig in this Secret, which you must be allowed to get.
    #[arg(long, value_name = "NAME")]
    pub credential_secret: Option<String>,
    /// Wipe even if etcd loses quorum or its last control plane; the cluster's name has to be typed, too.
    #[arg(long)]
    pub force: bool,
    /// Wipe without letting the machine leave etcd first, for a control plane whose cluster does not answer.
    #[arg(long)]
    pub force_ungraceful: bool,
    /// Show this request and go on with it, in place of creating one.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["address", "cluster", "talosconfig", "credential_secret", "force", "force_ungraceful"])]
    pub request: Option<String>,
    /// How long to wait for Ichor and the machine; the time you take to type does not count.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    pub timeout: Duration,
    /// Print the request as an object at the end; what is said for people goes to standard error.
    #[arg(
        short,
        long,
        value_name = "json|yaml|name",
        hide_possible_values = true
    )]
    pub output: Option<OutputFormat>,
    /// Context of the kubeconfig to use.
    #[arg(long, value_name = "CONTEXT", help_heading = "Connection")]
    pub kube_context: Option<String>,
    /// The connection.
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::Parser as _;
    use clap::error::ErrorKind;

    fn refused(line: &str) -> Option<ErrorKind> {
        let words = ["ichor", "machine", "reclaim"]
            .into_iter()
            .chain(line.split(' '));
        Cli::try_parse_from(words).err().map(|error| error.kind())
    }

    #[test]
    fn usage() {
        for (line, want) in [
            ("10.5.0.7 --cluster prod", None),
            ("10.5.0.7 --talosconfig f", None),
            (
                "10.5.0.7 --talosconfig f --context lab --cluster prod --force --force-ungraceful",
                None,
            ),
            ("10.5.0.7 --credential-secret s", None),
            ("--request reclaim-x7k2p", None),
            (
                "--request reclaim-x7k2p --timeout 30m -o json -n other",
                None,
            ),
            // Without --talosconfig, --cluster is needed (record 0136).
            ("10.5.0.7", Some(ErrorKind::MissingRequiredArgument)),
            ("--cluster prod", Some(ErrorKind::MissingRequiredArgument)),
            (
                "10.5.0.7 --cluster prod --context lab",
                Some(ErrorKind::MissingRequiredArgument),
            ),
            (
                "10.5.0.7 --talosconfig f --credential-secret s",
                Some(ErrorKind::ArgumentConflict),
            ),
            (
                "10.5.0.7 --request reclaim-x7k2p",
                Some(ErrorKind::ArgumentConflict),
            ),
            (
                "--request reclaim-x7k2p --force",
                Some(ErrorKind::ArgumentConflict),
            ),
            ("worker-7 --cluster prod", Some(ErrorKind::ValueValidation)),
            (
                "10.5.0.7 --cluster prod --timeout soon",
                Some(ErrorKind::ValueValidation),
            ),
        ] {
            assert_eq!(refused(line), want, "{line}");
        }
    }
}
