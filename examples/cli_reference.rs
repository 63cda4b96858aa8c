//! Writes `docs/cli.md` from the program's commands (`make generate`).

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    std::fs::write(file, ichor::cli::reference::markdown())
}
