//! Ichor runs Talos Linux clusters from Kubernetes objects.

use std::process::ExitCode;

fn main() -> ExitCode {
    ichor::cli::main()
}
