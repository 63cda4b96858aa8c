//! Who asks, and what is looked for in the answers.

use anyhow::{Result, ensure};
use ichor_ground::Kubectl;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;

/// May write every object of Ichor, and holds no verb of it.
pub const EDITOR: &[&str] = &["--as=editor"];

/// Holds the verb `reclaim` through a group alone.
pub const CAROL: &[&str] = &["--as=carol", "--as-group=reclaimers"];

/// The account whose record a status is, with the right to write every status through a group: the controller itself has
/// no part in that.
pub const RECORDER: &[&str] = &[
    "--as=system:serviceaccount:ichor-system:ichor-controller",
    "--as-group=recorders",
];

/// Gives these people their rights, which all go with the namespace.
pub async fn people(admin: &Kubectl) -> Result<()> {
    let text = format!(
        r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: ground-editor, namespace: {NAMESPACE}}}
rules:
- {{apiGroups: [ichor.maesh.dev], resources: ["*"], verbs: [get, list, create, update, patch, delete]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-editor, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: ground-editor}}
subjects:
- {{apiGroup: rbac.authorization.k8s.io, kind: User, name: editor}}
- {{apiGroup: rbac.authorization.k8s.io, kind: Group, name: recorders}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-reclaimers, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ichor-operator}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: reclaimers}}]
"#
    );
    admin.apply(&text).await.map(drop)
}

pub fn refused(said: &Said, with: &str) -> Result<()> {
    ensure!(
        !said.ok && said.err.contains(with),
        "wanted a refusal with {with:?}, got {said:?}"
    );
    Ok(())
}

pub fn accepted(said: &Said) -> Result<()> {
    ensure!(said.ok, "wanted it accepted, got {said:?}");
    Ok(())
}
