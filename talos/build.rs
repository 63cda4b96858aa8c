//! Compiles the protobuf subset without a system `protoc` (DESIGN section 6).

/// Specs whose YAML form is a map; the keys are Talos's.
const SPECS: [(&str, &str); 15] = [
    ("SystemInformation", "camelCase"),
    ("LinkStatus", "camelCase"),
    ("HardwareAddress", "camelCase"),
    ("ClusterInfo", "camelCase"),
    ("MachineStatus", "camelCase"),
    ("MachineStatusStatus", "camelCase"),
    ("UnmetCondition", "camelCase"),
    ("BootID", "camelCase"),
    ("HostnameStatus", "camelCase"),
    ("Nodename", "camelCase"),
    ("VolumeStatus", "camelCase"),
    ("DiscoveredVolume", "camelCase"),
    ("Disk", "snake_case"),
    ("SystemDisk", "camelCase"),
    ("EtcdMember", "camelCase"),
];

/// Fields whose YAML form differs from the protobuf form in name or type.
const FIELDS: [(&str, &str); 9] = [
    (
        "SystemInformation.serial_number",
        r#"rename = "serialnumber""#,
    ),
    (
        "LinkStatus.type",
        r#"deserialize_with = "crate::yaml::link_type""#,
    ),
    (
        "LinkStatus.hardware_addr",
        r#"deserialize_with = "crate::yaml::mac""#,
    ),
    (
        "LinkStatus.permanent_addr",
        r#"deserialize_with = "crate::yaml::mac""#,
    ),
    (
        "HardwareAddress.hardware_addr",
        r#"deserialize_with = "crate::yaml::mac""#,
    ),
    (
        "MachineStatus.stage",
        r#"deserialize_with = "crate::yaml::stage""#,
    ),
    ("BootID.boot_id", r#"rename = "bootID""#),
    (
        "VolumeStatus.phase",
        r#"deserialize_with = "crate::yaml::phase""#,
    ),
    ("EtcdMember.member_id", r#"rename = "memberID""#),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["machine.proto", "resource.proto", "specs.proto"];
    let descriptors = protox::compile(files, ["proto"])?;
    let mut builder = tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false);
    for (message, case) in SPECS {
        let attribute =
            format!(r#"#[derive(serde::Deserialize)] #[serde(default, rename_all = "{case}")]"#);
        builder = builder.type_attribute(format!("specs.{message}"), attribute);
    }
    for (field, attribute) in FIELDS {
        builder =
            builder.field_attribute(format!("specs.{field}"), format!("#[serde({attribute})]"));
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}
