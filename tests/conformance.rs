//! What holds without the webhook: the CRDs' own rules and the two admission policies, asked of a real API
//! server through kubectl (DESIGN section 4, "Without the webhook"; FAULTS 4, 5 and 8).
//!
//! `make conformance` runs this against the cluster that `CONFORMANCE_KUBECONFIG` names.

use anyhow::{Result, ensure};
use ichor_ground::controller::{NAMESPACE, install};
use ichor_ground::kubectl::Said;
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ControlPlane, Kubectl, eventually};

/// A person with RBAC's update on everything of Ichor, and without the verb `reclaim`.
const EDITOR: &str = "editor";
/// A person who holds the verb through a group only.
const GROUP_MEMBER: [&str; 2] = ["--as=carol", "--as-group=reclaimers"];

struct Cluster {
    kubectl: Kubectl,
    plane: ControlPlane,
}

impl Cluster {
    /// A cluster with the manifests installed. Its webhook configurations name a port nobody listens on.
    async fn start() -> Result<Self> {
        let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
        let kubectl = match std::env::var_os("CONFORMANCE_KUBECONFIG") {
            Some(path) => plane.kubectl_with(path.as_ref()),
            None => plane.kubectl(),
        };
        install(&kubectl, 1).await?;
        let cluster = Self { kubectl, plane };
        cluster.people().await?;
        Ok(cluster)
    }

    async fn people(&self) -> Result<()> {
        self.kubectl
            .apply(&format!(
                r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: ground-editor}}
rules:
- {{apiGroups: [ichor.maesh.dev], resources: ["*"], verbs: [get, list, create, update, patch, delete]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-editor, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ground-editor}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {EDITOR}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-reclaimers, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ichor-operator}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: reclaimers}}]
"#
            ))
            .await
            .map(drop)
    }

    /// Takes the webhook configurations away, as uninstalling does first.
    async fn without_webhook(&self) -> Result<()> {
        for kind in [
            "validatingwebhookconfiguration",
            "mutatingwebhookconfiguration",
        ] {
            self.kubectl
                .run(&["delete", kind, "ichor", "--ignore-not-found"])
                .await?;
        }
        // The policies are compiled some time after they are stored: wait until they judge.
        eventually("the policies to judge", async || {
            let said = self
                .create(&["--as=editor"], "probe", CLUSTER_CREDENTIALS)
                .await?;
            let judged = said.err.contains(NO_VERB);
            self.kubectl
                .try_run(&[
                    "delete",
                    "machinereclaim",
                    "probe",
                    "-n",
                    NAMESPACE,
                    "--ignore-not-found",
                ])
                .await?;
            Ok(judged.then_some(()))
        })
        .await
    }

    async fn create(&self, who: &[&str], name: &str, spec: &str) -> Result<Said> {
        let metadata = if name.ends_with('-') {
            "generateName"
        } else {
            "name"
        };
        let object = format!(
            r#"{{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"MachineReclaim","metadata":{{"{metadata}":"{name}","namespace":"{NAMESPACE}"}},"spec":{spec}}}"#
        );
        let args = [&["create", "-f", "-"], who].concat();
        self.kubectl.pipe(&args, &object).await
    }

    /// Writes an inspection as the controller would.
    async fn inspected(&self, name: &str) -> Result<()> {
        let text = self
            .kubectl
            .run(&["get", "machinereclaim", name, "-n", NAMESPACE, "-o", "json"])
            .await?;
        let mut object: serde_json::Value = serde_json::from_str(&text)?;
        object["status"] = serde_json::json!({"phase": "AwaitingConfirmation",
            "inspection": {"identity": {"uuid": "4c4c4544-0042-3510-8052-b4c04f463133"}}});
        let as_controller = "--as=system:serviceaccount:ichor-system:ichor-controller";
        let args = ["replace", "--subresource=status", as_controller, "-f", "-"];
        accepted(&self.kubectl.pipe(&args, &object.to_string()).await?)
    }

    async fn patch(&self, who: &[&str], name: &str, kind: &str, patch: &str) -> Result<Said> {
        let kind = format!("--type={kind}");
        let args = [
            &[
                "patch",
                "machinereclaim",
                name,
                "-n",
                NAMESPACE,
                &kind,
                "-p",
                patch,
            ],
            who,
        ]
        .concat();
        self.kubectl.try_run(&args).await
    }
}

/// What every refusal for want of the verb says.
const NO_VERB: &str = r#"verb "reclaim" on machinereclaims.ichor.maesh.dev"#;

const CLUSTER_CREDENTIALS: &str =
    r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":true}"#;
const SECRET: &str = r#"{"address":"10.5.0.7","credentialSecretRef":{"name":"pasted"}}"#;

fn refused(said: &Said, with: &str) -> Result<()> {
    ensure!(
        !said.ok && said.err.contains(with),
        "wanted a refusal with {with:?}, got {said:?}"
    );
    Ok(())
}

fn accepted(said: &Said) -> Result<()> {
    ensure!(said.ok, "wanted it accepted, got {said:?}");
    Ok(())
}

/// FAULTS 4 (kubernetes#109964, cozystack#3125): a webhook that is down stops nothing but Ichor's own objects.
#[tokio::test]
async fn faults_4_a_webhook_that_is_down_stops_only_ichors_objects() -> Result<()> {
    let cluster = Cluster::start().await?;
    let said = cluster.create(&[], "one", CLUSTER_CREDENTIALS).await?;
    refused(&said, "machinereclaims.mutate.ichor.maesh.dev")?;
    cluster
        .kubectl
        .apply(
            r"
apiVersion: v1
kind: Secret
metadata: {name: conformance, namespace: default}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: conformance, namespace: default}
---
apiVersion: v1
kind: Node
metadata: {name: conformance}
---
apiVersion: v1
kind: Pod
metadata: {name: conformance, namespace: default}
spec: {containers: [{name: one, image: none}]}
",
        )
        .await?;
    Ok(())
}

/// FAULTS 8 (kubebuilder#3370, kubernetes#121162): the CRDs apply twice, client-side and server-side.
#[tokio::test]
async fn faults_8_the_crds_apply_twice_both_ways_and_explain_themselves() -> Result<()> {
    let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
    let kubectl = plane.kubectl();
    let folder = ichor_ground::paths::workspace().join("crds/yaml");
    let folder = folder.to_str().unwrap_or_default();
    for flags in [
        &["--server-side=false"][..],
        &["--server-side=false"],
        &["--server-side", "--force-conflicts"],
        &["--server-side"],
    ] {
        kubectl
            .run(&[&["apply", "-k", folder], flags].concat())
            .await?;
    }
    for (path, wanted) in [
        ("machinereclaim.spec.confirmUUID", "typed by a person"),
        (
            "talosmachine.spec.approval",
            "Pending, Approved or Rejected",
        ),
        ("taloscluster.spec.kubernetesAccess", "self"),
    ] {
        let said = eventually("kubectl explain", async || {
            let said = kubectl.try_run(&["explain", path]).await?;
            Ok(said.ok.then_some(said.out))
        })
        .await?;
        ensure!(said.contains(wanted), "{path}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn without_the_webhook_the_policies_and_the_crds_still_hold() -> Result<()> {
    let cluster = Cluster::start().await?;
    cluster.without_webhook().await?;
    verb_reclaim(&cluster).await?;
    one_of(&cluster).await?;
    immutable(&cluster).await?;
    terminating(&cluster).await?;
    status_is_the_controllers(&cluster).await?;
    drop(cluster.plane);
    Ok(())
}

/// FAULTS 7: a group-only binding counts; RBAC's update alone does not.
async fn verb_reclaim(cluster: &Cluster) -> Result<()> {
    let editor = &["--as=editor"][..];
    refused(
        &cluster
            .create(editor, "refused", CLUSTER_CREDENTIALS)
            .await?,
        NO_VERB,
    )?;
    refused(
        &cluster
            .create(editor, "refused-", CLUSTER_CREDENTIALS)
            .await?,
        "Forbidden",
    )?;
    accepted(
        &cluster
            .create(&GROUP_MEMBER, "by-group", CLUSTER_CREDENTIALS)
            .await?,
    )?;
    accepted(
        &cluster
            .create(&GROUP_MEMBER, "by-group-", CLUSTER_CREDENTIALS)
            .await?,
    )?;
    refused(
        &cluster
            .create(
                &GROUP_MEMBER,
                "confirmed",
                &CLUSTER_CREDENTIALS
                    .replace('}', r#","confirmUUID":"x"}"#)
                    .replace(r#""prod","confirmUUID":"x"}"#, r#""prod"}"#),
            )
            .await?,
        "consent follows inspection",
    )?;
    // Tidying up needs no verb: labels and finalizers pass.
    accepted(
        &cluster
            .patch(
                editor,
                "by-group",
                "merge",
                r#"{"metadata":{"labels":{"a":"b"}}}"#,
            )
            .await?,
    )?;
    refused(
        &cluster
            .patch(
                editor,
                "by-group",
                "merge",
                r#"{"spec":{"confirmUUID":"4c4c4544-0042-3510-8052-b4c04f463133"}}"#,
            )
            .await?,
        NO_VERB,
    )?;
    let consent = r#"{"spec":{"confirmUUID":"4c4c4544-0042-3510-8052-b4c04f463133"}}"#;
    let early = cluster
        .patch(&GROUP_MEMBER, "by-group", "merge", consent)
        .await?;
    refused(&early, "before the machine was inspected")?;
    cluster.inspected("by-group").await?;
    accepted(
        &cluster
            .patch(&GROUP_MEMBER, "by-group", "merge", consent)
            .await?,
    )
}

/// Record 0136: exactly one of credentialSecretRef or clusterCredentials with clusterRef is set.
async fn one_of(cluster: &Cluster) -> Result<()> {
    for (spec, why) in [
        (
            r#"{"address":"10.5.0.7"}"#,
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"}}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":false}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":true,"credentialSecretRef":{"name":"x"}}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterCredentials":true}"#,
            "clusterCredentials needs clusterRef",
        ),
        (
            r#"{"address":"10.5.0.7","clusterCredentials":true,"clusterRef":null}"#,
            "clusterCredentials needs clusterRef",
        ),
        (
            r#"{"address":"worker-7","clusterCredentials":true,"clusterRef":{"name":"prod"}}"#,
            "must be an IP address",
        ),
    ] {
        refused(&cluster.create(&GROUP_MEMBER, "refused", spec).await?, why)?;
    }
    accepted(&cluster.create(&GROUP_MEMBER, "secret", SECRET).await?)?;
    accepted(&cluster.create(&GROUP_MEMBER, "secret-and-cluster", r#"{"address":"10.5.0.7","credentialSecretRef":{"name":"x"},"clusterRef":{"name":"prod"}}"#).await?)
}

/// Record 0136: neither can change after creation; DESIGN section 3: set, cleared or changed, by any way of writing.
async fn immutable(cluster: &Cluster) -> Result<()> {
    accepted(
        &cluster
            .create(&GROUP_MEMBER, "fixed", CLUSTER_CREDENTIALS)
            .await?,
    )?;
    for (name, kind, patch, why) in [
        (
            "fixed",
            "merge",
            r#"{"spec":{"address":"10.5.0.8"}}"#,
            "address cannot change",
        ),
        (
            "fixed",
            "merge",
            r#"{"spec":{"clusterRef":{"name":"other"}}}"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "merge",
            r#"{"spec":{"clusterCredentials":null,"credentialSecretRef":{"name":"x"}}}"#,
            "cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "json",
            r#"[{"op":"remove","path":"/spec/clusterRef"}]"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "json",
            r#"[{"op":"add","path":"/spec/credentialSecretRef","value":{"name":"x"}}]"#,
            "credentialSecretRef cannot be set",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"clusterRef":{"name":"prod"}}}"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"credentialSecretRef":{"name":"other"}}}"#,
            "credentialSecretRef cannot be set, cleared or changed",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"clusterCredentials":false}}"#,
            "clusterCredentials cannot be set",
        ),
    ] {
        refused(&cluster.patch(&GROUP_MEMBER, name, kind, patch).await?, why)?;
    }
    let applied = format!(
        r#"{{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"MachineReclaim","metadata":{{"name":"fixed","namespace":"{NAMESPACE}"}},"spec":{{"address":"10.5.0.9"}}}}"#
    );
    let args = [
        &["apply", "--server-side", "--force-conflicts", "-f", "-"][..],
        &GROUP_MEMBER,
    ]
    .concat();
    refused(
        &cluster.kubectl.pipe(&args, &applied).await?,
        "address cannot change",
    )
}

/// FAULTS 5 (ome#846, dynamo#13254): a finalizer can always go; a spec is fixed also while terminating.
async fn terminating(cluster: &Cluster) -> Result<()> {
    accepted(
        &cluster
            .create(&GROUP_MEMBER, "ending", CLUSTER_CREDENTIALS)
            .await?,
    )?;
    accepted(
        &cluster
            .patch(
                &["--as=editor"],
                "ending",
                "merge",
                r#"{"metadata":{"finalizers":["example.com/hold"]}}"#,
            )
            .await?,
    )?;
    cluster
        .kubectl
        .run(&[
            "delete",
            "machinereclaim",
            "ending",
            "-n",
            NAMESPACE,
            "--wait=false",
        ])
        .await?;
    refused(
        &cluster
            .patch(
                &GROUP_MEMBER,
                "ending",
                "merge",
                r#"{"spec":{"address":"10.5.0.8"}}"#,
            )
            .await?,
        "address cannot change",
    )?;
    accepted(
        &cluster
            .patch(
                &["--as=editor"],
                "ending",
                "merge",
                r#"{"metadata":{"finalizers":null}}"#,
            )
            .await?,
    )
}

/// DESIGN section 4: `*/status` only by the controller's account; not even an administrator may forge it.
async fn status_is_the_controllers(cluster: &Cluster) -> Result<()> {
    let forged = [
        "patch",
        "machinereclaim",
        "fixed",
        "-n",
        NAMESPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"phase":"Done"}}"#,
    ];
    refused(
        &cluster.kubectl.try_run(&forged).await?,
        "may not write the status",
    )
}
