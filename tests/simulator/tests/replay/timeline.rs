//! Replays what happened over time: each recorded probe's outcomes must come in the recorded order.
//!
//! Times differ on purpose (the simulator is quick), and what a poll may or may not catch is left away on both sides:
//! the moment in which a daemon is gone behind a live API, a connection reset, the short pause of a restarting API.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichor_simulator::proto::{cosi, machine};
use prost::Message;
use serde_json::Value;

use super::compare::differences;
use super::reasons::Report;
use super::record::{Call, Line, Observation, host};
use super::scene::Scene;
use crate::support::{Caller, Client};

/// A recorded run.
pub struct Run<'a> {
    pub name: String,
    pub calls: Vec<&'a Call>,
    observations: Vec<&'a Observation>,
}

/// The runs of a file, in order.
pub fn runs(lines: &[Line]) -> Vec<Run<'_>> {
    let mut found: Vec<Run<'_>> = Vec::new();
    for line in lines {
        let name = match line {
            Line::Call(call) => call.run.clone(),
            Line::Timeline(observation) => Some(observation.run.clone()),
            Line::Tls(_) => None,
        };
        let Some(name) = name else { continue };
        if !found.iter().any(|run| run.name == name) {
            found.push(Run { name: name.clone(), calls: Vec::new(), observations: Vec::new() });
        }
        let run = found.iter_mut().find(|run| run.name == name).unwrap();
        match line {
            Line::Call(call) => run.calls.push(call),
            Line::Timeline(observation) => run.observations.push(observation),
            Line::Tls(_) => {}
        }
    }
    found
}

/// Sequences of classes per probe.
type Seen = BTreeMap<String, Vec<String>>;

const STATUS: &str = "machine status, mTLS os:admin, cluster CA verified";
const STATUS_ANONYMOUS: &str = "machine status, anonymous, nothing verified";
const VERSION: &str = "version, mTLS os:admin, cluster CA verified";
const VERSION_ANONYMOUS: &str = "version, anonymous, nothing verified";
const TCP: &str = "tcp-connect";
const CERTIFICATE: &str = "server certificate";
const BOOT: &str = "boot id | boot time | node identity, mTLS os:admin";
const MEMBERS: &str = "etcd member list asked at 10.5.0.2:50000";

/// Plays one run; `after_calls` does what happened outside the API (power, other nodes).
pub async fn play(scene: &Scene, file: &str, run: &Run<'_>, report: &mut Report, after_calls: impl AsyncFnOnce()) {
    let observed = run.observations.iter().find(|seen| seen.probe == TCP).map(|seen| host(&seen.target));
    let target = run.calls.first().map_or_else(|| observed.unwrap(), |call| call.host());
    let began = tokio::time::Instant::now();
    let expected = recorded(run);
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let probes = expected.keys().map(|probe| {
        let at = if probe == MEMBERS { scene.socket(2) } else { scene.socket(target) };
        let caller = scene.caller(if probe.contains("anonymous") { "anonymous" } else { "os:admin" });
        tokio::spawn(poll(probe.clone(), at, caller, Arc::clone(&seen)))
    });
    let probes: Vec<_> = probes.collect();
    until(|| expected.keys().all(|probe| seen.lock().unwrap().contains_key(probe))).await;

    for (index, call) in run.calls.iter().enumerate() {
        // Recorded while the API went down: only that it cannot be reached is compared.
        let refused = call.code == "Unavailable";
        if refused {
            until(|| !scene.node(call.host()).serving()).await;
        } else if index > 0 {
            let gap = call.t_ms - run.calls[index - 1].t_ms;
            tokio::time::sleep(Duration::from_millis(gap.min(50))).await;
        }
        let answer = scene.send(call).await;
        report.compared += 1;
        if !(refused && answer.code == "Unavailable") {
            report.add(file, call, differences(call, &answer));
        }
    }
    after_calls().await;
    let last = |sequences: &Seen| -> BTreeMap<String, String> {
        sequences.iter().filter_map(|(probe, list)| Some((probe.clone(), list.last()?.clone()))).collect()
    };
    let goal = last(&expected);
    let ends = tokio::time::Instant::now() + Duration::from_secs(15);
    while last(&clean(&seen.lock().unwrap())) != goal && tokio::time::Instant::now() < ends {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for probe in probes {
        probe.abort();
    }
    report.timelines += 1;
    let seen = clean(&seen.lock().unwrap());
    if std::env::var_os("REPLAY_VERBOSE").is_some() {
        eprintln!("run {} {:?} took {:?}, goal {goal:?}, got {:?}", &file[..2], run.name, began.elapsed(), last(&seen));
    }
    for (probe, list) in &expected {
        let other = &seen[probe];
        if !same(list, other) {
            report.note(format!("{} timeline {:?} {probe}: expected {list:?}, got {other:?}", &file[..2], run.name));
        }
    }
}

async fn until(mut condition: impl FnMut() -> bool) {
    let ends = tokio::time::Instant::now() + Duration::from_secs(15);
    while !condition() && tokio::time::Instant::now() < ends {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn recorded(run: &Run<'_>) -> Seen {
    let mut names = (Vec::new(), Vec::new());
    let mut found = Seen::new();
    let probes = [STATUS, STATUS_ANONYMOUS, VERSION, VERSION_ANONYMOUS, TCP, CERTIFICATE, BOOT, MEMBERS];
    for observation in run.observations.iter().filter(|observation| probes.contains(&observation.probe.as_str())) {
        let text = match &observation.outcome {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let class = classify(&observation.probe, &text, &mut names);
        found.entry(observation.probe.clone()).or_default().push(class);
    }
    clean(&found)
}

/// Drops what a poll may miss, and repetitions.
fn clean(sequences: &Seen) -> Seen {
    let chance = ["daemon gone", "reset", "refused", "unavailable"];
    let tidy = |probe: &str, list: &Vec<String>| {
        // The old API may still answer strangers for a moment after a configuration was taken.
        let moment = |class: &String| probe == VERSION_ANONYMOUS && class == "configured";
        let missable = |class: &String| chance.contains(&class.as_str()) || moment(class);
        let mut list: Vec<String> = list.iter().filter(|class| !missable(class)).cloned().collect();
        list.dedup();
        list
    };
    sequences.iter().map(|(probe, list)| (probe.clone(), tidy(probe, list))).collect()
}

/// Equal but for what lasts so briefly that a poll on a busy computer may miss it, where only one side has it.
fn same(expected: &[String], got: &[String]) -> bool {
    let brief = |class: &String| {
        ["resetting", "rebooting", "shutting down", "booting, ready true", "\"\" learner"].iter().any(|part| class.contains(part))
    };
    let without = |list: &[String], other: &[String]| -> Vec<String> {
        let mut list: Vec<String> = list.iter().filter(|class| !brief(class) || other.contains(class)).cloned().collect();
        list.dedup();
        list
    };
    without(expected, got) == without(got, expected)
}

/// What an outcome means, whatever wording a client gives it.
fn classify(probe: &str, text: &str, names: &mut (Vec<String>, Vec<String>)) -> String {
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
        let stage = rest.split(" status:").next().unwrap_or_default().split('\n').next().unwrap_or_default();
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
    let [boot, _, identity] = parts[..] else { return "unavailable".to_owned() };
    let number = |list: &mut Vec<String>, item: &str| {
        if !list.iter().any(|known| known == item) {
            list.push(item.to_owned());
        }
        list.iter().position(|known| known == item).unwrap_or_default()
    };
    format!("boot {} identity {}", number(&mut names.0, boot), number(&mut names.1, identity))
}

/// Hostnames and who is a learner, without IDs.
fn members(text: &str) -> String {
    let Some(list) = text.strip_prefix("OK: ") else { return "reset".to_owned() };
    let mut names: Vec<String> = list
        .split(", ")
        .filter_map(|member| member.split_once(' '))
        .map(|(_, rest)| rest.to_owned())
        .collect();
    names.sort();
    names.join(", ")
}

async fn poll(probe: String, at: SocketAddr, caller: Caller, seen: Arc<Mutex<Seen>>) {
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
        let outcome = client.call("/machine.MachineService/EtcdMemberList", &request, second).await?;
        anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
        let list = machine::EtcdMemberListResponse::decode(outcome.messages[0].clone())?;
        let member = |member: &machine::EtcdMember| {
            format!("{} {:?}{}", member.id, member.hostname, if member.is_learner { " learner" } else { "" })
        };
        return Ok(format!("OK: {}", list.messages[0].members.iter().map(member).collect::<Vec<_>>().join(", ")));
    }
    if probe.starts_with("version") {
        let outcome = client.call("/machine.MachineService/Version", &(), second).await?;
        anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
        let version = machine::VersionResponse::decode(outcome.messages[0].clone())?;
        let configured = version.messages[0].features.is_some();
        return Ok(if configured { "OK: features present" } else { "OK: no features" }.to_owned());
    }
    if probe == BOOT {
        let boot = yaml(&mut client, "runtime", "BootIDs.runtime.talos.dev", "boot-id").await?;
        let identity = yaml(&mut client, "cluster", "Identities.cluster.talos.dev", "local").await?;
        return Ok(format!("{boot} | boot_time | {identity}"));
    }
    let status = yaml(&mut client, "runtime", "MachineStatuses.runtime.talos.dev", "machine").await?;
    Ok(format!("OK: {status}"))
}

async fn yaml(client: &mut Client, namespace: &str, kind: &str, id: &str) -> anyhow::Result<String> {
    let request = cosi::GetRequest { namespace: namespace.into(), r#type: kind.into(), id: id.into(), options: None };
    let outcome = client.call("/cosi.resource.State/Get", &request, Duration::from_secs(1)).await?;
    anyhow::ensure!(outcome.code == 0, "{}", outcome.message);
    let resource = cosi::GetResponse::decode(outcome.messages[0].clone())?.resource.unwrap_or_default();
    Ok(resource.spec.unwrap_or_default().yaml_spec)
}

fn subject_and_issuer(certificate: &[u8]) -> String {
    use x509_parser::prelude::{FromDer, X509Certificate};
    let (_, certificate) = X509Certificate::from_der(certificate).unwrap();
    format!("subject {:?} issuer {:?}", certificate.subject().to_string(), certificate.issuer().to_string())
}
