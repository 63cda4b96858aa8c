//! A control plane with the CRDs, and the examples as objects.

use anyhow::{Context, Result};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ControlPlane, Kubectl};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const NAMESPACE: &str = "ichor-system";

/// A control plane with the CRDs of one folder.
pub struct Ground {
    pub kubectl: Kubectl,
    client: kube::Client,
    pub plane: ControlPlane,
}

impl Ground {
    /// One with the CRDs as they are now.
    pub async fn start() -> Result<Self> {
        Self::with_crds(&folder("crds/yaml")).await
    }

    /// One with the CRDs of the kustomization in `crds`. Its audit log says nothing about what the controller needs.
    pub async fn with_crds(crds: &Path) -> Result<Self> {
        let plane = ControlPlane::start_apart(KubernetesCa::generate()?).await?;
        let ground = Self {
            kubectl: plane.kubectl(),
            client: plane.client().await?,
            plane,
        };
        ground
            .kubectl
            .run(&["create", "namespace", NAMESPACE])
            .await?;
        ground.install(crds).await?;
        Ok(ground)
    }

    /// Applies the CRDs of the kustomization in `crds` and waits until they are served.
    pub async fn install(&self, crds: &Path) -> Result<()> {
        let crds = crds.to_str().context("a path that is UTF-8")?;
        self.kubectl.run(&["apply", "-k", crds]).await?;
        let wait = [
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ];
        self.kubectl.run(&wait).await?;
        Ok(())
    }

    /// The objects of `kind`.
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(ichor_crds::GROUP, ichor_crds::VERSION, kind);
        Api::namespaced_with(
            self.client.clone(),
            NAMESPACE,
            &ApiResource::from_gvk(&kind),
        )
    }
}

/// A folder of the repository.
pub fn folder(path: &str) -> PathBuf {
    ichor_ground::paths::workspace().join(path)
}

fn files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for below in ["manifests/examples", "manifests/examples/operations"] {
        for entry in std::fs::read_dir(folder(below))? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The objects of the examples.
pub fn examples() -> Result<Vec<DynamicObject>> {
    let mut objects = Vec::new();
    for file in files()? {
        let text = std::fs::read_to_string(&file)?;
        for document in text.split("\n---\n") {
            let value: Value = serde_saphyr::from_str(document)
                .with_context(|| format!("an example of {}", file.display()))?;
            objects.push(serde_json::from_value(value)?);
        }
    }
    Ok(objects)
}

/// The example called `name`.
pub fn example(name: &str) -> Result<DynamicObject> {
    let found = examples()?
        .into_iter()
        .find(|object| object.metadata.name.as_deref() == Some(name));
    found.with_context(|| format!("the example {name}"))
}
