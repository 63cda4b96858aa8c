//! The probes of the timelines: what they look at, and what an outcome means.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichor_simulator::proto::{cosi, machine};
use prost::Message;

use crate::support::{Caller, Client};

/// Sequences of classes per probe.
pub type Seen = BTreeMap<String, Vec<String>>;

pub const STATUS: &str = "machine status, mTLS os:admin, cluster CA verified";
pub const STATUS_ANONYMOUS: &str = "machine status, anonymous, nothing verified";
pub const VERSION: &str = "version, mTLS os:admin, cluster CA verified";
pub const VERSION_ANONYMOUS: &str = "version, anonymous, nothing verified";
pub const TCP: &str = "tcp-connect";
pub const CERTIFICATE: &str = "server certificate";
pub const BOOT: &str = "boot id | boot time | node identity, mTLS os:admin";
pub const MEMBERS: &str = "etcd member list asked at 10.5.0.2:50000";

/// What an outcome means, whatever wording a client gives it.
pub fn classify(probe: &str, text: &str, names: &mut (Vec<String>, Vec<String>)) -> String {
    let has = |part: &str| text.contains(part);
    if probe == BOOT {
        return boot(text, names);
    }
    let class = if has("unknown authority") || has("UnknownIssuer") {
        "unverified"
    } else if has("machine.sock") {
        "daemon gone"
    } else if has("refused") {
        "refused"
    } else if has("certificate required") || has("CertificateRequired") {
        "certificate required"
    } else if has("no features") {
        "maintenance"
    } else if has("features present") {
        "configured"
    } else if has("CN=maintenance-service") {
        "maintenance"
    } else if has("O=talos") {
        "configured"
    } else if let Some(rest) = text.strip_prefix("OK: stage: ") {
        let stage = rest
            .split(" status:")
            .next()
            .unwrap_or_default()
            .split('\n')
            .next()
            .unwrap_or_default();
        return format!("{stage}, ready {}", rest.contains("ready: true"));
    } else if probe == MEMBERS {
        return members(text);
    } else if has("connected") {
        "connected"
    } else if probe.contains("anonymous") && (has("broken pipe") || has("reset") || has("closed")) {
        // The alert lost the race against the client's first write.
        "certificate required"
    } else {
        "reset"
    };
    class.to_owned()
}

/// Boots and identities are numbered as they appear.
fn boot(text: &str, names: &mut (Vec<String>, Vec<String>)) -> String {
    let parts: Vec<&str> = text.split(" | ").collect();
    let [boot, _, identity] = parts[..] else {
        return "unavailable".to_owned();
    };
    let number = |list: &mut Vec<String>, item: &str| {
        if !list.iter().any(|known| known == item) {
            list.push(item.to_owned());
        }
        list.iter()
            .position(|known| known == item)
            .unwrap_or_default()
    };
    format!(
        "boot {} identity {}",
        number(&mut names.0, boot),
        number(&mut names.1, identity)
    )
}

/// Hostnames and who is a learner, without IDs.
fn members(text: &str) -> String {
    let Some(list) = text.strip_prefix("OK: ") else {
        return "reset".to_owned();
    };
    let mut names: Vec<String> = list
        .split(", ")
        .filter_map(|member| member.split_once(' '))
        .map(|(_, rest)| rest.to_owned())
        .collect();
    names.sort();
    names.join(", ")
}

/// Looks again and again and notes each change.
pub async fn poll(probe: String, at: SocketAddr, caller: Caller, seen: Arc<Mutex<Seen>>) {
    let mut names = (Vec::new(), Vec::new());
    loop {
        let text = look(&probe, at, &caller).await;
        let class = classify(&probe, &text, &mut names);
        note(&seen, &probe, class);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

fn note(seen: &Mutex<Seen>, probe: &str, class: String) {
    let mut sequences = seen.lock().unwrap();
    let list = sequences.entry(probe.to_owned()).or_default();
    if list.last() != Some(&class) {
        list.push(class);
    }
}

/// One look, told in the words of the recordings.
async fn look(probe: &str, at: SocketAddr, caller: &Caller) -> String {
    match try_look(probe, at, caller).await {
        Ok(text) => text,
        Err(error) => format!("Unavailable: {error:#}"),
    }
}

async fn try_look(probe: &str, at: SocketAddr, caller: &Caller) -> anyhow::Result<String> {
    let second = Duration::from_secs(1);
    if probe == TCP {
        tokio::net::TcpStream::connect(at).await?;
        return Ok("connected".to_owned());
    }
    if probe == CERTIFICATE {
        let peer = crate::support::peer(at).await?;
        return Ok(subject_and_issuer(&peer));
    }
    let mut client = Client::connect(at, caller).await?;
    if probe == MEMBERS {
        let request = machine::EtcdMemberListRequest::default();
        let outcome = client
            .call("/machine.MachineService/EtcdMemberList", &request, second)
            .await?;
        anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
        let list = machine::EtcdMemberListResponse::decode(outcome.messages[0].clone())?;
        let member = |member: &machine::EtcdMember| {
            format!(
                "{} {:?}{}",
                member.id,
                member.hostname,
                if member.is_learner { " learner" } else { "" }
            )
        };
        return Ok(format!(
            "OK: {}",
            list.messages[0]
                .members
                .iter()
                .map(member)
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    if probe.starts_with("version") {
        let outcome = client
            .call("/machine.MachineService/Version", &(), second)
            .await?;
        anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
        let version = machine::VersionResponse::decode(outcome.messages[0].clone())?;
        let configured = version.messages[0].features.is_some();
        return Ok(if configured {
            "OK: features present"
        } else {
            "OK: no features"
        }
        .to_owned());
    }
    if probe == BOOT {
        let boot = yaml(
            &mut client,
            "runtime",
            "BootIDs.runtime.talos.dev",
            "boot-id",
        )
        .await?;
        let identity = yaml(
            &mut client,
            "cluster",
            "Identities.cluster.talos.dev",
            "local",
        )
        .await?;
        return Ok(format!("{boot} | boot_time | {identity}"));
    }
    let status = yaml(
        &mut client,
        "runtime",
        "MachineStatuses.runtime.talos.dev",
        "machine",
    )
    .await?;
    Ok(format!("OK: {status}"))
}

async fn yaml(
    client: &mut Client,
    namespace: &str,
    kind: &str,
    id: &str,
) -> anyhow::Result<String> {
    let request = cosi::GetRequest {
        namespace: namespace.into(),
        r#type: kind.into(),
        id: id.into(),
        options: None,
    };
    let outcome = client
        .call("/cosi.resource.State/Get", &request, Duration::from_secs(1))
        .await?;
    anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
    let resource = cosi::GetResponse::decode(outcome.messages[0].clone())?
        .resource
        .unwrap_or_default();
    Ok(resource.spec.unwrap_or_default().yaml_spec)
}

fn subject_and_issuer(certificate: &[u8]) -> String {
    use x509_parser::prelude::{FromDer, X509Certificate};
    let (_, certificate) = X509Certificate::from_der(certificate).unwrap();
    format!(
        "subject {:?} issuer {:?}",
        certificate.subject().to_string(),
        certificate.issuer().to_string()
    )
}
