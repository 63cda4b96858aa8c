//! What ApplyConfiguration accepts, with the texts Talos refuses with (recordings, file 10).

use serde_json::Value;

use super::documents::{MachineConfig, pem};
use super::kinds::{CLUSTER_KEYS, CONTROL_PLANE_KINDS, KINDS, MACHINE_KEYS};
use super::text::{decode_error, split};

/// A decoded configuration: complete, or only partial documents.
pub enum Loaded {
    /// With a v1alpha1 document.
    Complete(Box<MachineConfig>),
    /// Without.
    Partial(Partial),
}

/// Documents without a v1alpha1 one: the machine stays in maintenance, but takes what they say.
#[derive(Clone)]
pub struct Partial {
    /// Exactly as submitted.
    pub text: String,
    /// `HostnameConfig.hostname`.
    pub hostname: Option<String>,
}

impl Loaded {
    /// Exactly as submitted.
    pub fn text(&self) -> &str {
        match self {
            Self::Complete(config) => &config.text,
            Self::Partial(partial) => &partial.text,
        }
    }
}

/// Decodes and validates; the error is the text of InvalidArgument.
pub fn load(bytes: &[u8], container: bool, partial_allowed: bool) -> Result<Loaded, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "config is not text".to_owned())?;
    if let Some(value) = text
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        return Err(format!(
            "decode error: go-yaml load error in reader at <unknown position>: control characters are not allowed (value: {})",
            u32::from(value)
        ));
    }
    let mut documents: Vec<(usize, Value)> = Vec::new();
    for (line, part) in split(text) {
        let value: Value =
            serde_saphyr::from_str(&part).map_err(|error| decode_error(&part, &error))?;
        match value {
            Value::Null => {}
            Value::Object(_) => documents.push((line, value)),
            _ => return Err(format!("expected a YAML document at line {line}")),
        }
    }
    if documents.is_empty() {
        return Err("config not found".to_owned());
    }
    for (index, (line, document)) in documents.iter().enumerate() {
        decode(document, *line)?;
        if documents[..index]
            .iter()
            .any(|(_, other)| title(other) == title(document))
        {
            return Err(format!(
                "duplicate document {} is not allowed (line {line})",
                title(document)
            ));
        }
    }
    let values: Vec<Value> = documents
        .into_iter()
        .map(|(_, document)| document)
        .collect();
    let complete = MachineConfig::read(text, &values);
    if complete.is_none() && !partial_allowed {
        return Err(PARTIAL.to_owned());
    }
    let errors = errors(&values, container);
    if !errors.is_empty() {
        return Err(report(&errors));
    }
    Ok(match complete {
        Some(config) => Loaded::Complete(Box::new(config)),
        None => Loaded::Partial(Partial {
            text: text.to_owned(),
            hostname: hostname(&values),
        }),
    })
}

const PARTIAL: &str = "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?";

fn hostname(documents: &[Value]) -> Option<String> {
    let document = documents
        .iter()
        .find(|document| document["kind"] == "HostnameConfig")?;
    document["hostname"].as_str().map(str::to_owned)
}

/// `apiVersion/kind/name`, as Talos names a document in its errors.
fn title(document: &Value) -> String {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    if document.get("kind").is_none() && document["version"] == "v1alpha1" {
        return "/v1alpha1/".to_owned();
    }
    let (version, kind) = (text("apiVersion"), text("kind"));
    if kind.is_empty() {
        "/v1alpha1/".to_owned()
    } else {
        format!("{version}/{kind}/{}", text("name"))
    }
}

fn decode(document: &Value, line: usize) -> Result<(), String> {
    let fail = |reason: &str| {
        Err(format!(
            "error decoding document {} (line {line}): {reason}",
            title(document)
        ))
    };
    if document.get("kind").is_none() {
        // Without a kind it must look like the old single document.
        if document.get("version").is_none()
            || (document.get("machine").is_none() && document.get("cluster").is_none())
        {
            return fail("missing kind");
        }
        return decode_v1alpha1(document).or_else(|reason| fail(&reason));
    }
    if document.get("apiVersion").is_none() {
        return fail("missing apiVersion");
    }
    let (kind, version) = (
        document["kind"].as_str().unwrap_or_default(),
        document["apiVersion"].as_str().unwrap_or_default(),
    );
    if version != "v1alpha1" || !KINDS.contains(&kind) {
        return fail(&format!("{kind:?} {version:?}: not registered"));
    }
    if kind == "HostnameConfig" {
        let known = ["apiVersion", "kind", "hostname", "auto"];
        return refuse(&unknown_keys(document, &known)).or_else(|reason| fail(&reason));
    }
    Ok(())
}

fn decode_v1alpha1(document: &Value) -> Result<(), String> {
    let wrong = |line: usize, value: &Value, kind: &str| {
        Err(format!(
            "error decoding  to *v1alpha1.Config: yaml: construct errors: line {line}: cannot construct !!str `{}` into {kind}",
            value.as_str().unwrap_or_default()
        ))
    };
    let machine = &document["machine"];
    if machine.is_string() {
        return wrong(2, machine, "v1alpha1.MachineConfig");
    }
    if machine["certSANs"].is_string() {
        return wrong(4, &machine["certSANs"], "[]string");
    }
    let mut unknown = unknown_keys(
        document,
        &["version", "debug", "persist", "machine", "cluster"],
    );
    for (section, known) in [("machine", MACHINE_KEYS), ("cluster", CLUSTER_KEYS)] {
        let inner = unknown_keys(&document[section], known);
        if !inner.is_empty() {
            unknown.push(format!("{section}:"));
            unknown.extend(inner.iter().map(|line| format!("    {line}")));
        }
    }
    refuse(&unknown)
}

/// Lines `key: value` of what is not known.
fn unknown_keys(document: &Value, known: &[&str]) -> Vec<String> {
    let object = document.as_object().into_iter().flatten();
    let unknown = object.filter(|(key, _)| !known.contains(&key.as_str()));
    unknown
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}: {value}"),
        })
        .collect()
}

/// The refusal of unknown keys, if there are any.
fn refuse(unknown: &[String]) -> Result<(), String> {
    if unknown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "unknown keys found during decoding:\n{}\n",
        unknown.join("\n")
    ))
}

/// One entry of Talos's error list: a plain line, or the nested list of the v1alpha1 document.
enum Fault {
    Plain(String),
    Nested(Vec<String>),
}

fn errors(documents: &[Value], container: bool) -> Vec<Fault> {
    let mut errors = Vec::new();
    let find = |kind: &str| documents.iter().find(|document| document["kind"] == kind);
    if let Some(main) = documents
        .iter()
        .find(|document| document.get("kind").is_none())
    {
        let nested = v1alpha1_errors(main);
        if !nested.is_empty() {
            errors.push(Fault::Nested(nested));
        }
        if main["machine"]["type"] == "worker" {
            let mut kinds: Vec<&str> = documents
                .iter()
                .filter_map(|d| d["kind"].as_str())
                .collect();
            kinds.retain(|kind| CONTROL_PLANE_KINDS.contains(kind));
            kinds.sort_unstable();
            kinds.dedup();
            if !kinds.is_empty() {
                let kinds = kinds.join(" ");
                errors.push(Fault::Plain(format!(
                    "the following document kinds are only allowed on control plane machines: [{kinds}]"
                )));
            }
        }
    }
    if let Some(hostname) = find("HostnameConfig")
        && hostname.get("auto").is_some()
        && hostname.get("hostname").is_some()
    {
        errors.push(Fault::Plain(
            "HostnameConfig: 'auto' and 'hostname' cannot be set at the same time".to_owned(),
        ));
    }
    if let Some(cluster) = find("KubeClusterConfig")
        && cluster["endpoint"]
            .as_str()
            .is_some_and(|endpoint| !endpoint.contains("://") || endpoint.ends_with("://"))
    {
        errors.push(Fault::Plain(
            "KubeClusterConfig: cluster endpoint is invalid: hostname must not be blank".to_owned(),
        ));
    }
    let host_dns = find("ResolverConfig")
        .is_some_and(|resolver| resolver["hostDNS"]["enabled"] == Value::Bool(true));
    if container && !host_dns {
        errors.push(Fault::Plain(
            "hostDNS config is required in container mode".to_owned(),
        ));
    }
    errors
}

fn v1alpha1_errors(main: &Value) -> Vec<String> {
    let machine = &main["machine"];
    let certificate = pem(&machine["ca"]["crt"]);
    let key = pem(&machine["ca"]["key"]);
    let accepted = machine["acceptedCAs"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    let mut errors = Vec::new();
    if certificate.is_none() && !accepted {
        errors.push(
            "issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)"
                .to_owned(),
        );
    }
    match machine["type"].as_str() {
        Some("controlplane" | "init") => match (certificate, key) {
            (None, _) => errors.push("issuing CA is required (.machine.ca)".to_owned()),
            (Some(_), None) => {
                errors.push(
                    "issuing CA key is required for controlplane nodes (.machine.ca.key)"
                        .to_owned(),
                );
            }
            _ => {}
        },
        Some("worker") => {
            if main["cluster"].get("etcd").is_some() {
                errors.push("etcd config is only allowed on control plane machines".to_owned());
            }
            if key.is_some() {
                errors.push("issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)".to_owned());
            }
        }
        other => errors.push(format!(
            "unknown machine type {:?}",
            other.unwrap_or_default()
        )),
    }
    errors
}

/// The list as Go's multierror prints it.
fn report(errors: &[Fault]) -> String {
    let entries: Vec<String> = errors
        .iter()
        .map(|fault| match fault {
            Fault::Plain(text) => text.clone(),
            Fault::Nested(list) => format!("v1alpha1.Config: {}", bullets(list)),
        })
        .collect();
    bullets(&entries)
}

fn bullets(entries: &[String]) -> String {
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| format!("\t* {entry}\n"))
        .collect();
    format!("{}\n{}\n", count(entries.len()), lines.concat())
}

fn count(number: usize) -> String {
    if number == 1 {
        "1 error occurred:".to_owned()
    } else {
        format!("{number} errors occurred:")
    }
}
