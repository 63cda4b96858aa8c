//! Writes `crds/yaml` from the types (`make generate`).

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("yaml");
    for (file, crd) in ichor_crds::all_crds() {
        std::fs::write(folder.join(file), serde_saphyr::to_string(&crd)?)?;
    }
    Ok(())
}
