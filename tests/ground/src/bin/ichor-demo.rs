//! The story of an orphan, on a real API server and simulated Talos nodes (`make demo`).
//!
//! With `DEMO_ONCE=1` it ends after the story, non-zero if a step failed; else everything keeps running, to be
//! tried by hand, until Ctrl-C.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use ichor_ground::kubectl::Kubectl;
use ichor_ground::{ClusterSetup, GroundCluster, World, eventually};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::process::Command;

#[derive(Parser)]
struct Args {
    /// The binary `ichor`.
    #[arg(long)]
    ichor: PathBuf,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let ichor = args
        .ichor
        .canonicalize()
        .with_context(|| format!("{} is missing", args.ichor.display()))?;
    let start = Instant::now();
    say(
        "Starting a Kubernetes control plane, Ichor's controller, and a simulated cluster of three control planes, a worker and an orphan …",
    );
    let (plane, options) = World::without_controller(&ichor).await?;
    let cluster = GroundCluster::start(&plane, &plane, &setup()).await?;
    let controller = ichor_ground::Controller::start(&plane, &options).await?;
    let world = World {
        plane,
        controller,
        options,
    };
    say(&format!("Ready after {} s.", start.elapsed().as_secs()));

    let path = plugins(world.plane.folder(), &ichor, world.plane.kubectl().bin())?;
    let alice = Person {
        kubectl: world.operator("alice").await?,
        path,
    };
    story(&alice, &cluster).await?;
    say(&format!(
        "\nThe story took {} s from the start.",
        start.elapsed().as_secs()
    ));

    if std::env::var_os("DEMO_ONCE").is_some_and(|value| value == "1") {
        return Ok(());
    }
    say(
        "\nEverything keeps running. In another terminal, as alice, who has exactly the role ichor-operator:\n",
    );
    say(&format!(
        "  export KUBECONFIG={}",
        alice.kubectl.kubeconfig().display()
    ));
    say(&format!("  export PATH={}:$PATH\n", alice.path.display()));
    let second = cluster.node("orphan-2")?;
    say(&format!(
        "  ichor machine reclaim {} --cluster prod",
        second.address()
    ));
    say("  kubectl get machinereclaims\n\nCtrl-C ends it.");
    tokio::signal::ctrl_c().await?;
    Ok(())
}

fn setup() -> ClusterSetup {
    ClusterSetup {
        control_planes: 3,
        workers: 1,
        orphans: 2,
        adjust: |node| {
            if node.name.contains("orphan") {
                node.manufacturer = "Dell Inc.".into();
                node.product = "PowerEdge R640".into();
                node.user_volumes = vec!["data".to_owned()];
            }
        },
        ..ClusterSetup::new("prod")
    }
}

async fn story(alice: &Person, cluster: &GroundCluster) -> Result<()> {
    let orphan = cluster.node("orphan-1")?;
    let address = orphan.address().to_string();
    say(
        "\nprod is managed: each of its machines has an approved TalosMachine. prod-orphan-1 has none. It was removed without being wiped and still runs.",
    );
    alice.run(&["get", "talosclusters,talosmachines"]).await?;
    eventually("the orphan's Node", async || {
        Ok(alice
            .admin(cluster, &["get", "node", "prod-orphan-1"])
            .await
            .is_ok()
            .then_some(()))
    })
    .await?;

    say("\nalice asks for the orphan to be wiped. Nothing happens to it yet.");
    let created = alice
        .run(&["create", "machinereclaim", &address, "--cluster", "prod"])
        .await?;
    let name = created
        .split_whitespace()
        .next()
        .context("no name printed")?
        .to_owned();
    alice.wait(&name, "AwaitingConfirmation").await?;
    alice.run(&["get", "machinereclaims"]).await?;

    say(
        "\nThe controller has dialled the machine with a certificate made from the cluster's own secrets, and read what it is.",
    );
    alice
        .run(&["get", &name, "-o", "jsonpath={.status.inspection}"])
        .await?;
    ensure!(
        cluster.resets() == 0,
        "nothing may be reset before the UUID is typed"
    );

    say("\nalice types the machine's UUID: that is the consent.");
    let consent = format!(r#"{{"spec":{{"confirmUUID":"{}"}}}}"#, orphan.uuid());
    alice
        .run(&["patch", &name, "--type=merge", "-p", &consent])
        .await?;
    alice.wait(&name, "Done").await?;
    alice.run(&["get", "machinereclaims", "-o", "wide"]).await?;
    alice.run(&["events", "--for", &name]).await?;

    ensure!(
        cluster.resets() == 1,
        "exactly one reset, got {}",
        cluster.resets()
    );
    ensure!(
        orphan.in_maintenance(),
        "the machine has to be in maintenance mode"
    );
    let nodes = alice
        .admin(cluster, &["get", "nodes", "-o", "name"])
        .await?;
    ensure!(
        !nodes.contains("prod-orphan-1"),
        "its Kubernetes Node has to be gone: {nodes}"
    );
    say(
        "\nThe machine is wiped, in maintenance mode, and its Kubernetes Node is gone. One reset was sent.",
    );
    Ok(())
}

/// Someone at a terminal.
struct Person {
    kubectl: Kubectl,
    path: PathBuf,
}

impl Person {
    /// Runs kubectl with the plugins on PATH, shows command and output.
    async fn run(&self, args: &[&str]) -> Result<String> {
        say(&format!(
            "\n$ kubectl {}",
            args.iter()
                .map(|arg| quoted(arg))
                .collect::<Vec<_>>()
                .join(" ")
        ));
        let mut command = Command::new(self.path.join("kubectl"));
        command.env(
            "PATH",
            format!(
                "{}:{}",
                self.path.display(),
                std::env::var("PATH").unwrap_or_default()
            ),
        );
        let said = self.kubectl.exec(command, args, "").await?;
        say(&format!("{}{}", said.out, said.err));
        ensure!(said.ok, "kubectl {} failed", args.join(" "));
        Ok(said.out)
    }

    async fn wait(&self, name: &str, phase: &str) -> Result<()> {
        let phase = format!("--for=jsonpath={{.status.phase}}={phase}");
        self.run(&["wait", name, &phase, "--timeout=60s"])
            .await
            .map(drop)
    }

    /// What an administrator sees, without showing the command.
    async fn admin(&self, cluster: &GroundCluster, args: &[&str]) -> Result<String> {
        cluster.kubectl().run(args).await
    }
}

/// A folder for PATH with ichor and its kubectl plugins, which are ichor under other names.
fn plugins(folder: &Path, ichor: &Path, kubectl: &Path) -> Result<PathBuf> {
    let bin = folder.join("bin");
    std::fs::create_dir(&bin)?;
    for name in ["ichor", "kubectl-ichor", "kubectl-create-machinereclaim"] {
        std::os::unix::fs::symlink(ichor, bin.join(name))?;
    }
    std::os::unix::fs::symlink(kubectl.join("kubectl"), bin.join("kubectl"))?;
    Ok(bin)
}

fn quoted(arg: &str) -> String {
    if arg.contains(['{', '"', ' ']) {
        format!("'{arg}'")
    } else {
        arg.to_owned()
    }
}

fn say(text: &str) {
    // A closed terminal is no reason to leave machines half started.
    writeln!(std::io::stdout(), "{}", text.trim_end()).ok();
}
