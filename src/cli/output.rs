//! `-o json|yaml|name`: one object on standard output, as kubectl prints it.

use anyhow::Context as _;
use ichor_crds::{GROUP, MachineReclaim};
use std::io::Write as _;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The object as JSON.
    Json,
    /// The object as YAML.
    Yaml,
    /// The object's kind and name.
    Name,
}

/// `machinereclaim.ichor.maesh.dev/NAME`; without a name yet, what kubectl writes in its place.
pub fn resource_name(request: &MachineReclaim) -> String {
    let name = request.metadata.name.as_deref().unwrap_or("<unknown>");
    format!("machinereclaim.{GROUP}/{name}")
}

/// The object in the format, ending in a line break. Field managers are left out, as kubectl does.
pub fn format(request: &MachineReclaim, format: OutputFormat) -> anyhow::Result<String> {
    let mut shown = request.clone();
    shown.metadata.managed_fields = None;
    let text = match format {
        OutputFormat::Json => serde_json::to_string_pretty(&shown).context("writing JSON")?,
        OutputFormat::Yaml => serde_saphyr::to_string(&shown).context("writing YAML")?,
        OutputFormat::Name => resource_name(&shown),
    };
    Ok(format!("{}\n", text.trim_end()))
}

/// Prints the object on standard output.
pub fn print(request: &MachineReclaim, output: OutputFormat) -> anyhow::Result<()> {
    let text = format(request, output)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("writing to standard output")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::MachineReclaimSpec;
    use serde_json::json;

    fn request() -> MachineReclaim {
        let spec = MachineReclaimSpec {
            address: "10.5.0.7".to_owned(),
            ..MachineReclaimSpec::default()
        };
        let mut request = MachineReclaim::new("reclaim-x7k2p", spec);
        request.metadata.managed_fields = Some(Vec::new());
        request
    }

    #[test]
    fn objects_are_printed_as_kubectl_prints_them() {
        let json = format(&request(), OutputFormat::Json).expect("JSON");
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON again");
        let want = json!({"apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
            "metadata": {"name": "reclaim-x7k2p"}, "spec": {"address": "10.5.0.7"}});
        assert_eq!(value, want);
        let yaml = format(&request(), OutputFormat::Yaml).expect("YAML");
        let value: serde_json::Value = serde_saphyr::from_str(&yaml).expect("YAML again");
        assert_eq!(value, want);
        assert_eq!(
            format(&request(), OutputFormat::Name).expect("name"),
            "machinereclaim.ichor.maesh.dev/reclaim-x7k2p\n"
        );
    }

    #[test]
    fn a_request_without_a_name_is_unknown() {
        let mut request = request();
        request.metadata.name = None;
        assert_eq!(
            resource_name(&request),
            "machinereclaim.ichor.maesh.dev/<unknown>"
        );
    }
}
