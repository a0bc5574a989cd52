//! Generates the types, clients and servers from the protos, without a system protoc.

use std::path::PathBuf;
use std::{env, fs};

use protox::Compiler;
use protox::prost::Message as _;

const FILES: [&str; 11] = [
    "confab/policy/v1/policy.proto",
    "confab/registry/v1/registry.proto",
    "confab/runner/v1/delivery.proto",
    "confab/runner/v1/runner.proto",
    "confab/runner/v1/worker.proto",
    "confab/tools/v1/tools.proto",
    "confab/transcript/v1/transcript.proto",
    "confab/types/v1/delivery.proto",
    "confab/types/v1/flow.proto",
    "confab/types/v1/message.proto",
    "confab/types/v1/run.proto",
];

#[expect(
    clippy::disallowed_methods,
    reason = "cargo speaks to build scripts by the environment"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=confab");

    let mut compiler = Compiler::new([&root])?;
    compiler
        .include_source_info(true)
        .include_imports(true)
        .open_files(FILES)?;
    let descriptors = compiler.file_descriptor_set();
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;

    tonic_prost_build::configure()
        .generate_default_stubs(true)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
