//! Where the built parts and the manifests are.

use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder `target/` of the workspace, where the Go parts are built whatever `CARGO_TARGET_DIR` says.
pub fn target() -> PathBuf {
    workspace().join("target")
}

/// The multi-call binary of the control plane.
pub fn control_plane() -> Result<PathBuf> {
    built(
        "controlplane/current/controlplane",
        "tests/controlplane/build.sh",
    )
}

/// The folder of kube-apiserver, kube-controller-manager, etcd and kubectl: `KUBEBUILDER_ASSETS` where it is set.
pub fn kubernetes() -> Result<PathBuf> {
    match std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) {
        Some(folder) => Ok(std::path::absolute(folder)?),
        None => Ok(control_plane()?.with_file_name("")),
    }
}

/// Talos's own library as a command.
pub fn oracle() -> Result<PathBuf> {
    built("oracle/current/oracle", "tests/oracle/build.sh")
}

fn built(below_target: &str, how: &str) -> Result<PathBuf> {
    let path = target().join(below_target);
    ensure!(
        path.exists(),
        "{} is missing: build it with {how} (`make test` does)",
        path.display()
    );
    Ok(path)
}
