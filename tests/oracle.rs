//! Talos's own published Go code as the judge (DESIGN section 16, "Oracle"): of the client certificates we mint, and
//! of the simulated nodes that all other tests stand on.

use anyhow::{Context, Result, ensure};
use ichor_certs::{ClientCertificate, Role, SecretsBundle, mint::mint_client};
use ichor_ground::addresses::Subnet;
use ichor_ground::{eventually, oracle};
use ichor_simulator::{ClusterSpec, Fleet, FleetSpec, NodeHandle, NodeSpec, Stage};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The time by the same clock that the judge has.
#[allow(
    clippy::disallowed_methods,
    reason = "tests of certificates live in real time"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is UTF-8")
}

/// A secrets bundle as Talos's own generator makes it.
async fn generated(folder: &TempDir, algorithm: &str) -> Result<PathBuf> {
    let file = folder.path().join(format!("{algorithm}.yaml"));
    // Certificates are backdated, and never to before their CA: it has been in use for a day.
    let since = now().checked_sub(SignedDuration::from_hours(24))?;
    let since = Timestamp::from_second(since.as_second())?.to_string();
    let (made, said) = oracle::ask(&[
        "gen-secrets",
        "--os-ca",
        algorithm,
        "--at",
        &since,
        "--out",
        text(&file)?,
    ])
    .await?;
    ensure!(made, "{said}");
    Ok(file)
}

/// What Talos says of a certificate: whether it takes it, and the report.
async fn judged(
    folder: &TempDir,
    ca: &str,
    minted: &ClientCertificate,
    flags: &[&str],
) -> Result<(bool, Value)> {
    let file = |name: &str, text: &str| -> Result<PathBuf> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let ca = file("ca.pem", ca)?;
    let certificate = file("client.pem", &minted.certificate_pem())?;
    let key = file("client.key", &minted.key_pem())?;
    let args = [
        "check-client-cert",
        "--ca",
        text(&ca)?,
        "--cert",
        text(&certificate)?,
        "--key",
        text(&key)?,
    ];
    oracle::ask(&[&args, flags].concat()).await
}

fn failed(report: &Value, check: &str) -> bool {
    let checks = report["checks"].as_array();
    checks.is_some_and(|all| {
        all.iter()
            .any(|one| one["name"] == check && one["ok"] == false)
    })
}

/// DESIGN section 5 and FAULTS 29 (talos#10668): Ed25519, ECDSA and RSA CAs, for administrators and readers.
#[tokio::test]
async fn talos_takes_what_is_minted_from_every_kind_of_ca() -> Result<()> {
    let folder = TempDir::new()?;
    let golden = ichor_ground::paths::workspace().join("certs/tests/golden");
    let mut bundles = vec![golden.join("v1.9.yaml"), golden.join("v1.14.yaml")];
    for algorithm in ["ed25519", "ecdsa", "rsa"] {
        bundles.push(generated(&folder, algorithm).await?);
    }
    for file in bundles {
        let bundle = SecretsBundle::parse(&std::fs::read(&file)?)?;
        let now = self::now();
        let ca = bundle.os_ca(now)?;
        for (role, name) in [(Role::Admin, "os:admin"), (Role::Reader, "os:reader")] {
            let minted = mint_client(ca, role, now)?;
            let (taken, report) =
                judged(&folder, &ca.certificate_pem(), &minted, &["--role", name]).await?;
            ensure!(
                taken && report["ok"] == true,
                "{} as {name}: {report}",
                file.display()
            );
            ensure!(report["key"] == "Ed25519", "{report}");
        }
    }
    Ok(())
}

/// The judge does say no: to another CA, another role, a certificate that is over, and a node whose clock is further
/// behind than the certificate is backdated (FAULTS 28).
#[tokio::test]
async fn talos_refuses_what_is_wrong() -> Result<()> {
    let folder = TempDir::new()?;
    let file = generated(&folder, "ed25519").await?;
    let bundle = SecretsBundle::parse(&std::fs::read(&file)?)?;
    let stranger = SecretsBundle::parse(&std::fs::read(generated(&folder, "ecdsa").await?)?)?;
    let now = self::now();
    let minted = mint_client(bundle.os_ca(now)?, Role::Admin, now)?;
    let own = bundle.os_ca(now)?.certificate_pem();
    let at =
        |offset: SignedDuration| -> Result<String> { Ok(now.checked_add(offset)?.to_string()) };

    let other = stranger.os_ca(now)?.certificate_pem();
    let (taken, report) = judged(&folder, &other, &minted, &["--role", "os:admin"]).await?;
    ensure!(!taken && failed(&report, "handshake"), "{report}");

    let (taken, report) = judged(&folder, &own, &minted, &["--role", "os:reader"]).await?;
    ensure!(!taken && failed(&report, "organisation"), "{report}");

    for offset in [
        SignedDuration::from_mins(61),
        SignedDuration::from_mins(-11),
    ] {
        let clock = at(offset)?;
        let (taken, report) = judged(&folder, &own, &minted, &["--now", &clock]).await?;
        ensure!(!taken && failed(&report, "handshake"), "{offset}: {report}");
    }
    // Within the ten minutes by which it is backdated, a node behind takes it.
    let clock = at(SignedDuration::from_mins(-9))?;
    let (taken, report) = judged(&folder, &own, &minted, &["--now", &clock]).await?;
    ensure!(taken, "{report}");
    Ok(())
}

struct Scene {
    fleet: Fleet,
    member: NodeHandle,
    new: NodeHandle,
    talosconfig: PathBuf,
    bundle: PathBuf,
    folder: TempDir,
    _subnet: Subnet,
}

/// A control plane and a machine in maintenance mode, with a talosconfig that Talos's own code made.
async fn scene() -> Result<Scene> {
    let (folder, subnet) = (TempDir::new()?, Subnet::claim()?);
    let node = |name: &str, n| NodeSpec {
        name: name.to_owned(),
        address: subnet.address(n),
        ..NodeSpec::default()
    };
    let bundle = generated(&folder, "ed25519").await?;
    let fleet = Fleet::start(FleetSpec {
        clusters: vec![ClusterSpec {
            name: "prod".to_owned(),
            bundle: Some(std::fs::read_to_string(&bundle)?),
            ..ClusterSpec::default()
        }],
        nodes: vec![
            NodeSpec {
                mode: ichor_simulator::StartMode::Configured,
                cluster: Some("prod".to_owned()),
                ..node("cp-1", 1)
            },
            node("new-1", 2),
        ],
        ..FleetSpec::default()
    })
    .await?;
    let talosconfig = folder.path().join("talosconfig");
    let (made, said) = oracle::ask(&[
        "gen-talosconfig",
        "--secrets",
        text(&bundle)?,
        "--cluster",
        "prod",
        "--out",
        text(&talosconfig)?,
    ])
    .await?;
    ensure!(made, "{said}");
    let (member, new) = (fleet.node("cp-1")?, fleet.node("new-1")?);
    Ok(Scene {
        fleet,
        member,
        new,
        talosconfig,
        bundle,
        folder,
        _subnet: subnet,
    })
}

impl Scene {
    /// One action of Talos's own client with the talosconfig.
    async fn admin(&self, node: &NodeHandle, action: &[&str]) -> Result<Value> {
        let credential = ["--talosconfig", text(&self.talosconfig)?];
        oracle::dial(&credential, node.address(), action).await
    }
}

/// Talos's own Go client reads, in both modes, what the machine is.
#[tokio::test]
async fn talos_own_client_reads_simulated_machines_in_both_modes() -> Result<()> {
    let scene = scene().await?;
    let (member, new) = (&scene.member, &scene.new);
    let said = scene.admin(member, &["identity"]).await?;
    let seen = &said["result"];
    ensure!(
        seen["uuid"] == member.uuid()
            && seen["serial"] == member.serial()
            && seen["machineType"] == "controlplane",
        "{said}"
    );
    ensure!(
        seen["clusterID"] == scene.fleet.secrets("prod")?.cluster_id(),
        "{said}"
    );
    ensure!(
        said["peer"]["tls"] == "TLS 1.3" && said["peer"]["alpn"] == "h2",
        "{said}"
    );
    let said = scene.admin(member, &["stage"]).await?;
    ensure!(said["result"]["stage"] == "running", "{said}");
    for list in [
        &["list", "Disks.block.talos.dev", "runtime"],
        &["list", "VolumeStatuses.block.talos.dev", "runtime"],
    ] {
        let said = scene.admin(member, list).await?;
        let items = said["result"].as_array().context("a list")?;
        ensure!(
            !items.is_empty() && items.iter().all(|item| item.get("yaml").is_none()),
            "{said}"
        );
    }
    let said = scene.admin(member, &["members"]).await?;
    ensure!(said.to_string().contains("cp-1"), "{said}");

    let said = oracle::dial(&["--insecure"], new.address(), &["identity"]).await?;
    ensure!(
        said["result"]["uuid"] == new.uuid() && said["result"]["clusterID"].is_null(),
        "{said}"
    );
    let pin = said["peer"]["fingerprint"]
        .as_str()
        .context("a fingerprint")?;
    oracle::dial(
        &["--insecure", "--fingerprint", pin],
        new.address(),
        &["stage"],
    )
    .await?;
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let pinned = oracle::dial(
        &["--insecure", "--fingerprint", other],
        new.address(),
        &["stage"],
    )
    .await;
    ensure!(pinned.is_err(), "another machine's fingerprint was taken");

    // Each mode refuses the other's way in.
    ensure!(
        oracle::dial(&["--insecure"], member.address(), &["stage"])
            .await
            .is_err()
    );
    ensure!(scene.admin(new, &["stage"]).await.is_err());
    Ok(())
}

/// Talos's own generator and client take a machine from maintenance into the cluster and wipe it again.
#[tokio::test]
async fn talos_own_client_applies_and_resets_simulated_machines() -> Result<()> {
    let scene = scene().await?;
    let new = &scene.new;
    let config = scene.folder.path().join("worker.yaml");
    let (made, said) = oracle::ask(&[
        "gen-config",
        "--secrets",
        text(&scene.bundle)?,
        "--cluster",
        "prod",
        "--endpoint",
        "https://127.0.0.1:6443",
        "--role",
        "worker",
        "--out",
        text(&config)?,
    ])
    .await?;
    ensure!(made, "{said}");
    let apply = ["apply", "--file", text(&config)?];
    oracle::dial(&["--insecure"], new.address(), &apply).await?;
    let joined = eventually("the machine to run its configuration", async || {
        let said = scene.admin(new, &["stage"]).await?;
        Ok((said["result"]["stage"] == "running").then_some(()))
    });
    joined.await?;
    let before = scene.admin(new, &["identity"]).await?;
    ensure!(
        before["result"]["clusterName"] == "prod" && before["result"]["machineType"] == "worker",
        "{before}"
    );

    scene.admin(new, &["reset", "--graceful"]).await?;
    eventually("the machine to be in maintenance mode", async || {
        let said = oracle::dial(&["--insecure"], new.address(), &["identity"]).await?;
        Ok(
            (said["result"]["uuid"] == new.uuid() && new.stage() == Stage::Maintenance)
                .then_some(()),
        )
    })
    .await?;
    ensure!(new.wiped() == ["STATE", "EPHEMERAL"], "{:?}", new.wiped());
    ensure!(
        scene.admin(new, &["stage"]).await.is_err(),
        "the old credentials still open it"
    );
    Ok(())
}
