//! The pure crates stay pure: no runtime, no client (DESIGN section 2).

use std::process::Command;

#[test]
fn no_runtime_and_no_client() {
    for name in ["ichor-machineconfig", "ichor-crds"] {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--edges",
                "normal",
                "--prefix",
                "none",
                "-p",
                name,
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let tree = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && tree.starts_with(name), "{said}");
        for line in tree.lines() {
            let package = line.split(' ').next().unwrap_or_default();
            let runtime = ["tokio", "hyper", "tonic"];
            let found = runtime
                .iter()
                .any(|it| package == *it || package.starts_with(&format!("{it}-")));
            assert!(!found, "{name} pulls in {line}");
        }
    }
}
