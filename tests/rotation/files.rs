//! Certificates from mounted files (`--tls-cert-file`, `--tls-key-file`, `--client-ca-file`), which change as a kubelet
//! changes them: a new folder, then one symbolic link that is swapped.

use crate::fleet::{Fleet, first};
use crate::load::request;
use anyhow::{Result, ensure};
use ichor_certs::serving::{Injected, Lifetimes, ServingSecret, Step, Wanted, carry_out};
use ichor_crds::MachineReclaim;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::handshake::{NAME, Trusts, shake};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ClusterSetup, GroundCluster, eventually};
use kube::Api;
use kube::api::PostParams;
use std::path::{Path, PathBuf};

/// A Secret or ConfigMap as a kubelet mounts it.
struct Mount {
    folder: PathBuf,
    written: usize,
}

impl Mount {
    fn new(folder: &Path, name: &str) -> Result<Self> {
        let folder = folder.join(name);
        std::fs::create_dir(&folder)?;
        Ok(Self { folder, written: 0 })
    }

    /// `NAME -> ..data/NAME`, `..data -> ..N`: the swap of `..data` changes all files at once.
    fn write(&mut self, files: &[(&str, &[u8])]) -> Result<()> {
        use std::os::unix::fs::symlink;
        self.written += 1;
        let version = format!("..{}", self.written);
        let folder = self.folder.join(&version);
        std::fs::create_dir(&folder)?;
        for (name, content) in files {
            std::fs::write(folder.join(name), content)?;
            let link = self.folder.join(name);
            if !link.is_symlink() {
                symlink(Path::new("..data").join(name), link)?;
            }
        }
        let new = self.folder.join("..data_tmp");
        symlink(&version, &new)?;
        std::fs::rename(new, self.folder.join("..data"))?;
        if self.written > 1 {
            let old = self.folder.join(format!("..{}", self.written - 1));
            std::fs::remove_dir_all(old)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// A CA with a leaf, as cert-manager would keep them.
struct Pair(ServingSecret);

impl Pair {
    fn new() -> Result<Self> {
        Self::step(Step::MakeAll, None)
    }

    /// Another leaf of the same CA.
    fn renewed(&self) -> Result<Self> {
        let same = ServingSecret::from_data(&self.0.to_data())?;
        Self::step(Step::IssueLeaf, Some(same))
    }

    fn step(step: Step, from: Option<ServingSecret>) -> Result<Self> {
        let wanted = Wanted {
            names: vec![NAME.to_owned()],
            lifetimes: Lifetimes::default(),
        };
        let nothing = Injected {
            bundle: b"",
            settled: b"",
        };
        let now = ichor::runtime::clock::now();
        Ok(Self(carry_out(step, from, nothing, now, &wanted)?))
    }

    fn crt(&self) -> Vec<u8> {
        self.0.certificate_pem().into_bytes()
    }

    fn key(&self) -> Vec<u8> {
        self.0.key_pem().as_bytes().to_vec()
    }
}

/// FAULTS 1 and 2 with somebody else's certificate: nothing there yet, then there, renewed, half renewed, broken, of a
/// new CA. What is served always verifies, and a connection that stands goes on.
#[tokio::test(flavor = "multi_thread")]
async fn mounted_certificates_are_served_and_exchanged() -> Result<()> {
    let mut fleet = Fleet::start(&[("--serving-propagation", "1s")]).await?;
    let mut mount = Mount::new(fleet.plane.folder(), "serving")?;
    fleet.options = fleet
        .options
        .with("--tls-cert-file", &mount.path("tls.crt"))
        .with("--tls-key-file", &mount.path("tls.key"));
    let mut replica = fleet.spawn().await?;
    let unready = async |replica: &crate::fleet::Replica, text: &str| {
        eventually(text, async || {
            let (code, why) = replica.controller.get("/readyz").await?;
            Ok((code == 503 && why.contains(text)).then_some(()))
        })
        .await
    };
    unready(&replica, "tls.crt cannot be read").await?;
    let pair = Pair::new()?;
    mount.write(&[("tls.crt", &pair.crt()), ("tls.key", &pair.key())])?;
    unready(&replica, "does not verify").await?;
    crate::secret::inject(&fleet, &pair.0.ca_bundle()).await?;
    replica.controller.ready().await?;
    ensure!(
        fleet.stored("tls.crt").await?.is_empty(),
        "Ichor makes none of its own"
    );

    let serves = async |pair: &Pair, bundle: Vec<u8>| {
        let (webhook, leaf) = (replica.webhook, first(&pair.crt())?);
        let trusts = Trusts {
            bundle,
            ..Trusts::default()
        };
        eventually("the leaf of the files", async || {
            let (_, shown) = shake(webhook, &trusts, "h2").await?;
            Ok((shown == leaf).then_some(()))
        })
        .await
    };
    let old = pair.0.ca_bundle();
    serves(&pair, old.clone()).await?;
    let renewed = pair.renewed()?;
    mount.write(&[("tls.crt", &renewed.crt()), ("tls.key", &renewed.key())])?;
    serves(&renewed, old.clone()).await?;

    // Of what is wrong nothing is served: half of a renewal, no key, a leaf whose CA nobody knows.
    let next = Pair::new()?;
    let refused = |text: &'static str| {
        let controller = &replica.controller;
        async move {
            eventually(text, async || {
                Ok(controller.log().contains(text).then_some(()))
            })
            .await
        }
    };
    mount.write(&[("tls.crt", &next.crt()), ("tls.key", &renewed.key())])?;
    refused("are not one pair").await?;
    mount.write(&[("tls.crt", &next.crt()), ("tls.key", b"")])?;
    refused("is not PEM text").await?;
    mount.write(&[("tls.crt", &next.crt()), ("tls.key", &next.key())])?;
    refused("does not verify for").await?;
    serves(&renewed, old.clone()).await?;
    replica.controller.ready().await?;

    // cert-manager's injector puts the new CA beside the old one, or in its place.
    let both = [next.0.ca_bundle(), old].concat();
    crate::secret::inject(&fleet, &both).await?;
    serves(&next, both).await?;
    crate::secret::inject(&fleet, &next.0.ca_bundle()).await?;
    replica.controller.ready().await?;
    ensure!(replica.controller.ended()?.is_none());
    Ok(())
}

/// The API server shows its client certificate (its `AdmissionConfiguration` says which). With its CA it is let in,
/// others are not, and the CA is exchanged like any certificate. TLS 1.2 is refused.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_api_server_is_let_in_by_its_client_certificate() -> Result<()> {
    let mut fleet = Fleet::start(&[]).await?;
    let setup = ClusterSetup::new("clients");
    // Objects are judged when they are made, by a replica that lets anybody in.
    let open = fleet.replicas(1).await?;
    let cluster = GroundCluster::start(&fleet.plane, &fleet.plane, &setup).await?;
    drop(open);
    let request = request("clients", &cluster.node("orphan-1")?.address().to_string())?;
    let mut mount = Mount::new(fleet.plane.folder(), "clients")?;
    fleet.options = fleet
        .options
        .with("--client-ca-file", &mount.path("ca.crt"));
    let replica = fleet.spawn().await?;
    eventually("it not to be ready", async || {
        let (code, why) = replica.controller.get("/readyz").await?;
        Ok((code == 503 && why.contains("ca.crt cannot be read")).then_some(()))
    })
    .await?;
    let own = fleet.plane.ca.certificate.clone();
    mount.write(&[("ca.crt", own.as_bytes())])?;
    replica.controller.ready().await?;

    let requests: Api<MachineReclaim> = Api::namespaced(fleet.client.clone(), NAMESPACE);
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let admitted = async || {
        eventually("the API server to be let in", async || {
            Ok(Some(requests.create(&dry, &request).await?))
        })
        .await
    };
    admitted().await?;
    let trusts = Trusts {
        bundle: fleet.bundle().await?,
        ..Trusts::default()
    };
    ensure!(
        !answers(&replica, &trusts).await,
        "a client without a certificate"
    );
    let old = Trusts {
        old: true,
        ..trusts.clone()
    };
    ensure!(shake(replica.webhook, &old, "h2").await.is_err(), "TLS 1.2");

    // Another CA: the connections that stand are left, so the replica is exchanged, too.
    let other = KubernetesCa::generate()?;
    mount.write(&[("ca.crt", other.certificate.as_bytes())])?;
    eventually("the other CA", async || {
        let log = replica.controller.log();
        Ok((log.matches("clients of another CA are let in").count() == 2).then_some(()))
    })
    .await?;
    drop(replica);
    let replica = fleet.replicas(1).await?.remove(0);
    eventually("the API server to be kept out", async || {
        let refused = requests.create(&dry, &request).await.err();
        let refused = refused.map(|error| error.to_string()).unwrap_or_default();
        Ok(refused.contains("failed calling webhook").then_some(()))
    })
    .await?;
    mount.write(&[("ca.crt", [own, other.certificate].concat().as_bytes())])?;
    admitted().await?;
    drop(replica);
    Ok(())
}

/// Whether a client gets an answer: in TLS 1.3 it learns of a refusal after its half of the handshake.
async fn answers(replica: &crate::fleet::Replica, trusts: &Trusts) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Ok((mut stream, _)) = shake(replica.webhook, trusts, "http/1.1").await else {
        return false;
    };
    let request = b"GET / HTTP/1.1\r\nHost: webhook\r\nConnection: close\r\n\r\n";
    let mut answer = Vec::new();
    stream.write_all(request).await.is_ok()
        && stream.read_to_end(&mut answer).await.is_ok()
        && !answer.is_empty()
}
