//! Compiles the proto subset without a system `protoc`, and keeps the descriptors for JSON at run time.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

const FILES: [&str; 5] = [
    "common.proto",
    "machine.proto",
    "storage.proto",
    "cosi.proto",
    "specs.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(false)
        .compile_fds(descriptors)?;
    Ok(())
}
