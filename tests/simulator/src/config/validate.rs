//! What ApplyConfiguration accepts, with the texts Talos refuses with (recordings, file 10).

use serde_json::Value;

use super::documents::{MachineConfig, pem};

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
    if let Some(value) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(format!(
            "decode error: go-yaml load error in reader at <unknown position>: control characters are not allowed (value: {})",
            u32::from(value)
        ));
    }
    let mut documents: Vec<(usize, Value)> = Vec::new();
    for (line, part) in split(text) {
        let value: Value = serde_saphyr::from_str(&part).map_err(|error| decode_error(&part, &error))?;
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
        if documents[..index].iter().any(|(_, other)| title(other) == title(document)) {
            return Err(format!("duplicate document {} is not allowed (line {line})", title(document)));
        }
    }
    let values: Vec<Value> = documents.into_iter().map(|(_, document)| document).collect();
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
        None => Loaded::Partial(Partial { text: text.to_owned(), hostname: hostname(&values) }),
    })
}

const PARTIAL: &str =
    "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?";

fn hostname(documents: &[Value]) -> Option<String> {
    let document = documents.iter().find(|document| document["kind"] == "HostnameConfig")?;
    document["hostname"].as_str().map(str::to_owned)
}

/// The loader's text for what is no YAML. Only the tab, the one a person meets, is spelled as Talos spells it.
fn decode_error(part: &str, error: &serde_saphyr::Error) -> String {
    let lines: Vec<&str> = part.lines().collect();
    match lines.iter().position(|line| line.starts_with('\t')) {
        Some(index) if index > 0 => {
            let column = lines[index - 1].find(": ").map_or(1, |colon| colon + 3);
            format!(
                "decode error: go-yaml load error in scanner (while scanning a plain scalar) at L{index}.C{column}-L{}.C1: found a tab character that violates indentation",
                index + 1
            )
        }
        _ => format!("decode error: {error}"),
    }
}

/// Documents with the line (from 1) each begins at.
fn split(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(1, String::new())];
    for (index, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            parts.push((index + 2, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.retain(|(_, part)| part.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')));
    parts
}

/// `apiVersion/kind/name`, as Talos names a document in its errors.
fn title(document: &Value) -> String {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    if document.get("kind").is_none() && document["version"] == "v1alpha1" {
        return "/v1alpha1/".to_owned();
    }
    let (version, kind) = (text("apiVersion"), text("kind"));
    if kind.is_empty() { "/v1alpha1/".to_owned() } else { format!("{version}/{kind}/{}", text("name")) }
}

fn decode(document: &Value, line: usize) -> Result<(), String> {
    let fail = |reason: &str| Err(format!("error decoding document {} (line {line}): {reason}", title(document)));
    if document.get("kind").is_none() {
        // Without a kind it must look like the old single document.
        if document.get("version").is_none() || (document.get("machine").is_none() && document.get("cluster").is_none()) {
            return fail("missing kind");
        }
        return decode_v1alpha1(document).or_else(|reason| fail(&reason));
    }
    if document.get("apiVersion").is_none() {
        return fail("missing apiVersion");
    }
    let (kind, version) = (document["kind"].as_str().unwrap_or_default(), document["apiVersion"].as_str().unwrap_or_default());
    if version != "v1alpha1" || !KINDS.contains(&kind) {
        return fail(&format!("{kind:?} {version:?}: not registered"));
    }
    if kind == "HostnameConfig" {
        let unknown = unknown_keys(document, &["apiVersion", "kind", "hostname", "auto"]);
        if !unknown.is_empty() {
            return fail(&format!("unknown keys found during decoding:\n{unknown}"));
        }
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
    let mut unknown = unknown_keys(document, &["version", "debug", "persist", "machine", "cluster"]);
    for (section, known) in [("machine", MACHINE_KEYS), ("cluster", CLUSTER_KEYS)] {
        let inner = unknown_keys(&document[section], known);
        if !inner.is_empty() {
            unknown.push_str(&format!("{section}:\n"));
            unknown.extend(inner.lines().map(|line| format!("    {line}\n")));
        }
    }
    if unknown.is_empty() { Ok(()) } else { Err(format!("unknown keys found during decoding:\n{unknown}")) }
}

fn unknown_keys(document: &Value, known: &[&str]) -> String {
    let object = document.as_object().into_iter().flatten();
    object
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .map(|(key, value)| format!("{key}: {}\n", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

/// One entry of Talos's error list: a plain line, or the nested list of the v1alpha1 document.
enum Fault {
    Plain(String),
    Nested(Vec<String>),
}

fn errors(documents: &[Value], container: bool) -> Vec<Fault> {
    let mut errors = Vec::new();
    let find = |kind: &str| documents.iter().find(|document| document["kind"] == kind);
    if let Some(main) = documents.iter().find(|document| document.get("kind").is_none()) {
        let nested = v1alpha1_errors(main);
        if !nested.is_empty() {
            errors.push(Fault::Nested(nested));
        }
        if main["machine"]["type"] == "worker" {
            let mut kinds: Vec<&str> = documents.iter().filter_map(|d| d["kind"].as_str()).collect();
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
        errors.push(Fault::Plain("HostnameConfig: 'auto' and 'hostname' cannot be set at the same time".to_owned()));
    }
    if let Some(cluster) = find("KubeClusterConfig")
        && cluster["endpoint"].as_str().is_some_and(|endpoint| !endpoint.contains("://") || endpoint.ends_with("://"))
    {
        errors.push(Fault::Plain("KubeClusterConfig: cluster endpoint is invalid: hostname must not be blank".to_owned()));
    }
    let host_dns = find("ResolverConfig").is_some_and(|resolver| resolver["hostDNS"]["enabled"] == Value::Bool(true));
    if container && !host_dns {
        errors.push(Fault::Plain("hostDNS config is required in container mode".to_owned()));
    }
    errors
}

fn v1alpha1_errors(main: &Value) -> Vec<String> {
    let machine = &main["machine"];
    let certificate = pem(&machine["ca"]["crt"]);
    let key = pem(&machine["ca"]["key"]);
    let accepted = machine["acceptedCAs"].as_array().is_some_and(|list| !list.is_empty());
    let mut errors = Vec::new();
    if certificate.is_none() && !accepted {
        errors.push("issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)".to_owned());
    }
    match machine["type"].as_str() {
        Some("controlplane" | "init") => match (certificate, key) {
            (None, _) => errors.push("issuing CA is required (.machine.ca)".to_owned()),
            (Some(_), None) => {
                errors.push("issuing CA key is required for controlplane nodes (.machine.ca.key)".to_owned());
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
        other => errors.push(format!("unknown machine type {:?}", other.unwrap_or_default())),
    }
    errors
}

/// The list as Go's multierror prints it.
fn report(errors: &[Fault]) -> String {
    let lines: String = errors
        .iter()
        .map(|fault| match fault {
            Fault::Plain(text) => format!("\t* {text}\n"),
            Fault::Nested(list) => {
                let lines: String = list.iter().map(|text| format!("\t* {text}\n")).collect();
                format!("\t* v1alpha1.Config: {}\n{lines}\n\n", count(list.len()))
            }
        })
        .collect();
    format!("{}\n{lines}\n", count(errors.len()))
}

fn count(number: usize) -> String {
    if number == 1 { "1 error occurred:".to_owned() } else { format!("{number} errors occurred:") }
}

const KINDS: [&str; 49] = [
    "HostnameConfig", "ResolverConfig", "TimeSyncConfig", "DiscoveryIdentityConfig", "DiscoveryServiceConfig",
    "UnattendedInstallConfig", "VolumeConfig", "UserVolumeConfig", "RawVolumeConfig", "ExistingVolumeConfig",
    "ExternalVolumeConfig", "SwapVolumeConfig", "ZswapConfig", "FilesystemTrimConfig", "FilesystemScrubConfig",
    "SecurityProfileConfig", "KubeClusterConfig", "KubeNodeConfig", "KubeletConfig", "KubeNetworkConfig",
    "KubeAPIServerCAConfig", "KubePrismConfig", "KubeAggregatorCAConfig", "KubeAdmissionControlConfig",
    "KubeAuditPolicyConfig", "KubeAuthorizerConfig", "KubeAuthenticationConfig", "KubeAPIServerConfig", "KubeControllerManagerConfig",
    "KubeSchedulerConfig", "KubeProxyConfig", "KubeServiceAccountConfig", "KubeEtcdEncryptionConfig", "KubeCoreDNSConfig",
    "KubeFlannelCNIConfig", "RegistryMirrorConfig", "RegistryAuthConfig", "RegistryTLSConfig", "LinkConfig",
    "LinkAliasConfig", "DHCPv4Config", "DHCPv6Config", "StaticHostConfig", "KmsgLogConfig", "WatchdogTimerConfig",
    "TrustedRootsConfig", "EnvironmentConfig", "ExtensionServiceConfig", "PCIDriverRebindConfig",
];

/// Keys of `machine` in v1alpha1.
const MACHINE_KEYS: &[&str] = &[
    "type", "token", "ca", "acceptedCAs", "certSANs", "controlPlane", "kubelet", "pods", "network", "disks", "install", "files",
    "env", "time", "sysctls", "sysfs", "registries", "systemDiskEncryption", "features", "udev", "logging", "kernel",
    "seccompProfiles", "baseRuntimeSpecOverrides", "nodeLabels", "nodeAnnotations", "nodeTaints",
];

/// Keys of `cluster` in v1alpha1.
const CLUSTER_KEYS: &[&str] = &[
    "id", "secret", "controlPlane", "clusterName", "network", "token", "aescbcEncryptionSecret", "secretboxEncryptionSecret",
    "ca", "acceptedCAs", "aggregatorCA", "serviceAccount", "apiServer", "controllerManager", "proxy", "scheduler",
    "discovery", "etcd", "coreDNS", "externalCloudProvider", "extraManifests", "extraManifestHeaders", "inlineManifests",
    "adminKubeconfig", "allowSchedulingOnMasters", "allowSchedulingOnControlPlanes",
];

const CONTROL_PLANE_KINDS: [&str; 13] = [
    "KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig",
    "KubeAuthenticationConfig", "KubeAuthorizerConfig", "KubeControllerManagerConfig", "KubeCoreDNSConfig",
    "KubeEtcdEncryptionConfig", "KubeFlannelCNIConfig", "KubeProxyConfig", "KubeSchedulerConfig", "KubeServiceAccountConfig",
];
