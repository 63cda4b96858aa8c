//! FAULTS 30 (talm dc95e9a, topf#43), DESIGN principle 6: no key, token or secret of a bundle, of a pasted talosconfig or
//! of the controller itself stands in a log, trace, Event, status, metric, admission answer, audit log, or in what kubectl and the
//! command line print, whether it goes well, is refused, or fails over a bundle that is garbage.

#[path = "common/collector.rs"]
mod collector;
mod common;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use collector::Collector;
use ichor_crds::{ReclaimPhase, conditions};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{
    ClusterSetup, ControlPlane, Controller, GroundCluster, Kubectl, Request, World,
};
use ichor_simulator::{Action, Fault};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What must stand nowhere: a name for people, and the text.
#[derive(Default)]
struct Sentinels(BTreeMap<String, String>);

/// Shorter texts occur by chance.
const SHORTEST: usize = 16;

impl Sentinels {
    /// A secret as it is, decoded, and each line of the PEM in it.
    fn add(&mut self, name: &str, secret: &str) {
        self.note(name, secret.trim());
        let Ok(decoded) = STANDARD.decode(secret.trim()) else {
            return;
        };
        let Ok(pem) = String::from_utf8(decoded) else {
            return;
        };
        self.note(&format!("{name}, decoded"), pem.trim());
        let lines = pem.lines().filter(|line| !line.starts_with("-----"));
        let body: Vec<&str> = lines.collect();
        for (number, line) in body.iter().enumerate() {
            self.note(&format!("{name}, line {number}"), line);
        }
        self.note(&format!("{name}, body"), &body.concat());
    }

    fn note(&mut self, name: &str, text: &str) {
        if text.len() >= SHORTEST {
            self.0.insert(name.to_owned(), text.to_owned());
        }
    }

    /// Every secret of a document: certificates and names are none.
    fn add_all(&mut self, name: &str, yaml: &str) -> Result<()> {
        let value: Value = serde_saphyr::from_str(yaml)?;
        self.walk(name, &value);
        Ok(())
    }

    fn walk(&mut self, path: &str, value: &Value) {
        const SECRET: [&str; 5] = [
            "key",
            "secret",
            "token",
            "bootstraptoken",
            "secretboxencryptionsecret",
        ];
        for (name, inner) in value.as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            match inner.as_str() {
                Some(text) if SECRET.contains(&name.as_str()) => self.add(&path, text),
                _ => self.walk(&path, inner),
            }
        }
    }

    /// Looks for every sentinel in a text.
    fn are_not_in(&self, place: &str, text: &str) -> Result<()> {
        ensure!(!text.is_empty(), "{place} is empty: nothing was looked at");
        let found: Vec<&String> = self
            .0
            .iter()
            .filter(|(_, secret)| text.contains(secret.as_str()))
            .map(|(name, _)| name)
            .collect();
        ensure!(found.is_empty(), "{place} shows {found:?}");
        Ok(())
    }
}

/// All that was said on the way.
#[derive(Default)]
struct Said(String);

impl Said {
    fn hear(&mut self, said: &ichor_ground::kubectl::Said) {
        self.0.push_str(&said.out);
        self.0.push_str(&said.err);
    }

    /// Asks and gives the request, or keeps what was said about it.
    async fn ask(&mut self, kubectl: &Kubectl, spec: &Value) -> Result<Option<Request>> {
        let said = Request::try_create(kubectl, spec).await?;
        self.hear(&said);
        let name = said.out.trim().rsplit('/').next().unwrap_or_default();
        Ok(said.ok.then(|| Request::named(kubectl, name)))
    }
}

fn by_cluster(cluster: &GroundCluster, short: &str) -> Result<Value> {
    let address = cluster.node(short)?.address().to_string();
    let name = &cluster.name;
    Ok(json!({"address": address, "clusterRef": {"name": name}, "clusterCredentials": true}))
}

fn by_secret(cluster: &GroundCluster, short: &str, secret: &str) -> Result<Value> {
    let address = cluster.node(short)?.address().to_string();
    Ok(json!({"address": address, "credentialSecretRef": {"name": secret}}))
}

fn talosconfig_secret(name: &str, text: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "ichor.maesh.dev/talosconfig",
        "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": {"talosconfig": text},
    })
    .to_string()
}

/// Bundles that are none, each with a secret in the place that is wrong.
fn broken(cluster: &GroundCluster, sentinels: &mut Sentinels) -> Result<Vec<String>> {
    let good = cluster.bundle.yaml()?;
    let value: Value = serde_saphyr::from_str(&good)?;
    let key = value["certs"]["os"]["key"].as_str().context("a key")?;
    let pem = String::from_utf8(STANDARD.decode(key)?)?;
    let half = STANDARD.encode(&pem[..pem.len() / 2]);
    let other = STANDARD.encode(pem.replace("PRIVATE KEY", "SECRET SENTINEL KEY"));
    let plain = "SENTINEL-KEY-THAT-IS-NO-BASE64-%%%";
    let bundles: Vec<String> = [half.as_str(), &other, plain]
        .into_iter()
        .map(|wrong| {
            sentinels.add("a broken key", wrong);
            good.replace(key, wrong)
        })
        .collect();
    let text = "SENTINEL-TEXT-THAT-IS-NO-BUNDLE";
    sentinels.add("garbage", text);
    Ok([
        bundles,
        vec![format!("{{{text}: [{text}"), format!("certs: {text}")],
    ]
    .concat())
}

/// Who takes part, what they said, and what must not be in it.
struct Stage {
    plane: ControlPlane,
    cluster: GroundCluster,
    alice: Kubectl,
    admin: Kubectl,
    talosconfig: String,
    sentinels: Sentinels,
    said: Said,
}

impl Stage {
    /// It goes well, with both kinds of credentials.
    async fn goes_well(&mut self) -> Result<()> {
        let pasted = talosconfig_secret("pasted", &self.talosconfig);
        self.said.0.push_str(&self.admin.apply(&pasted).await?);
        for (short, spec) in [
            ("orphan-1", by_cluster(&self.cluster, "orphan-1")?),
            ("orphan-2", by_secret(&self.cluster, "orphan-2", "pasted")?),
        ] {
            let request = self.said.ask(&self.admin, &spec).await?;
            let uuid = self.cluster.node(short)?.uuid().to_owned();
            request
                .context("admitted")?
                .confirm_and_finish(&uuid)
                .await?;
        }
        Ok(())
    }

    /// The same by the command line, with the talosconfig in a file.
    async fn goes_well_by_command_line(&mut self) -> Result<()> {
        let file = self.plane.folder().join("talosconfig");
        std::fs::write(&file, &self.talosconfig)?;
        let file = file.to_str().context("a path that is UTF-8")?;
        for (who, short, flags) in [
            (&self.alice, "orphan-5", vec![]),
            (&self.admin, "orphan-6", vec!["--talosconfig", file]),
        ] {
            let node = self.cluster.node(short)?;
            let address = node.address().to_string();
            let args = ["machine", "reclaim", &address, "--cluster", "sentinel"];
            let program = tokio::process::Command::new(common::ichor());
            let typed = format!("{}\n", node.uuid());
            let heard = who
                .exec(program, &[&args[..], &flags].concat(), &typed)
                .await?;
            ensure!(heard.ok && node.in_maintenance(), "{short}: {heard:?}");
            self.said.hear(&heard);
        }
        Ok(())
    }

    /// It is refused: no verb, no right to the Secret, two credentials.
    async fn is_refused(&mut self) -> Result<()> {
        let mallory = self.plane.person("mallory", &[])?;
        let both = json!({"address": "10.5.0.9", "clusterRef": {"name": "sentinel"}, "clusterCredentials": true,
            "credentialSecretRef": {"name": "pasted"}});
        for (who, spec) in [
            (&mallory, by_cluster(&self.cluster, "orphan-3")?),
            (&self.alice, by_secret(&self.cluster, "orphan-3", "pasted")?),
            (&self.alice, both),
        ] {
            ensure!(self.said.ask(who, &spec).await?.is_none(), "{spec}");
        }
        Ok(())
    }

    /// It waits for credentials that are none: a talosconfig, then bundles.
    async fn waits_for_credentials(&mut self) -> Result<()> {
        let text = "context: SENTINEL-NO-TALOSCONFIG\ncontexts: [SENTINEL-NO-TALOSCONFIG";
        self.sentinels
            .add("a broken talosconfig", "SENTINEL-NO-TALOSCONFIG");
        let secret = talosconfig_secret("broken", text);
        self.admin.apply(&secret).await?;
        let spec = by_secret(&self.cluster, "orphan-3", "broken")?;
        self.is_missed(&spec).await?;
        for bundle in broken(&self.cluster, &mut self.sentinels)? {
            self.cluster.replace_bundle(&bundle).await?;
            let spec = by_cluster(&self.cluster, "orphan-3")?;
            self.is_missed(&spec).await?;
        }
        let good = self.cluster.bundle.yaml()?;
        self.cluster.replace_bundle(&good).await
    }

    /// Asks, waits for a condition that says what is missing, and takes it back.
    async fn is_missed(&mut self, spec: &Value) -> Result<()> {
        let Some(request) = self.said.ask(&self.admin, spec).await? else {
            return Ok(());
        };
        request
            .until("the credential to be missed", |status| {
                status
                    .conditions
                    .iter()
                    .any(|one| one.type_ == conditions::WAITING)
                    && status.inspection.is_none()
            })
            .await?;
        let delete = ["delete", "machinereclaim", &request.name, "-n", NAMESPACE];
        self.admin.run(&delete).await.map(drop)
    }

    /// It fails: a wrong UUID, then a reset that has no effect.
    async fn fails(&mut self) -> Result<()> {
        let orphan = self.cluster.node("orphan-4")?;
        let spec = by_cluster(&self.cluster, "orphan-4")?;
        let request = self.said.ask(&self.alice, &spec).await?;
        let request = request.context("admitted")?;
        request.inspected().await?;
        let wrong = json!({"confirmUUID": "11111111-2222-4333-8444-555555555555"});
        self.said.hear(&request.patch(wrong).await?);
        orphan.fault(Fault::on("Reset", Action::DropBefore));
        request.confirm(orphan.uuid()).await?;
        request.reaches(ReclaimPhase::Failed).await.map(drop)
    }

    /// Looks at everything that can be read.
    async fn shows_nothing(&self, controller: &Controller) -> Result<()> {
        const KINDS: &str = "talosclusters,talosmachines,machinereclaims,events,nodes,leases";
        const WEBHOOKS: &str = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        for (place, args) in [
            ("objects", vec!["get", KINDS, "-A", "-o", "yaml"]),
            ("descriptions", vec!["describe", KINDS, "-n", NAMESPACE]),
            ("webhooks", vec!["get", WEBHOOKS, "-o", "yaml"]),
        ] {
            let text = self.admin.run(&args).await?;
            self.sentinels.are_not_in(place, &text)?;
        }
        let (_, metrics) = controller.get("/metrics").await?;
        let audit = std::fs::read_to_string(self.plane.audit_log())?;
        for (place, text) in [
            ("what people were told", &self.said.0),
            ("the controller's log", &controller.log()),
            ("the metrics", &metrics),
            ("the audit log", &audit),
        ] {
            self.sentinels.are_not_in(place, text)?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn faults_30_no_secret_stands_in_anything_that_can_be_read() -> Result<()> {
    let (plane, options) = World::without_controller(common::ichor()).await?;
    let traces = Collector::start().await?;
    let options = options
        .with("--log-filter", "debug")
        .with("--otlp-endpoint", traces.url());
    let mut controller = Controller::start(&plane, &options).await?;
    let setup = ClusterSetup {
        orphans: 6,
        ..ClusterSetup::new("sentinel")
    };
    let cluster = GroundCluster::start(&plane, &plane, &setup).await?;
    let talosconfig = cluster.fleet.admin_talosconfig("sentinel")?;
    let kubeconfig = std::fs::read_to_string(plane.folder().join("controller.kubeconfig"))?;
    let kubeconfig: Value = serde_json::from_str(&kubeconfig)?;
    let token = kubeconfig["users"][0]["user"]["token"].as_str();

    let mut sentinels = Sentinels::default();
    sentinels.add_all("bundle", &cluster.bundle.yaml()?)?;
    sentinels.add_all("talosconfig", &talosconfig)?;
    sentinels.add("the controller's token", token.context("a token")?);
    ensure!(sentinels.0.len() > 20, "{:?}", sentinels.0.keys());
    let mut stage = Stage {
        alice: ichor_ground::world::operator(&plane, "alice").await?,
        admin: plane.kubectl(),
        plane,
        cluster,
        talosconfig,
        sentinels,
        said: Said::default(),
    };
    stage.goes_well().await?;
    stage.goes_well_by_command_line().await?;
    stage.is_refused().await?;
    stage.waits_for_credentials().await?;
    stage.fails().await?;
    stage.shows_nothing(&controller).await?;
    // The last spans are sent at the end.
    controller.terminate().await?;
    ensure!(traces.spans().iter().any(|span| span.name == "talos call"));
    stage.sentinels.are_not_in("the traces", &traces.text())
}

#[test]
fn a_secret_is_found_in_each_of_its_forms() -> Result<()> {
    let body = "MC4CAQAwBQYDK2VwBCIEINDsbnVLNPGZPbDcyYVZjUoMfHYBcxYo0YqWCwxVYkFl";
    let pem =
        format!("-----BEGIN ED25519 PRIVATE KEY-----\n{body}\n-----END ED25519 PRIVATE KEY-----\n");
    let mut sentinels = Sentinels::default();
    let yaml = format!(
        "certs: {{os: {{crt: aXMgbm8gc2VjcmV0LCBzaG93IGl0, key: {}}}}}",
        STANDARD.encode(&pem)
    );
    sentinels.add_all("bundle", &yaml)?;
    for text in [
        pem.as_str(),
        body,
        &STANDARD.encode(&pem),
        &format!("a {body} b"),
    ] {
        ensure!(sentinels.are_not_in("a text", text).is_err(), "{text}");
    }
    sentinels.are_not_in("a text", "aXMgbm8gc2VjcmV0LCBzaG93IGl0")
}
