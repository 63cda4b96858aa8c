//! A simulated copy of the recorded machines, and the recorded callers at it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ichor_simulator::pki::Authority;
use ichor_simulator::{
    ClusterSpec, Fleet, FleetSpec, NodeHandle, NodeSpec, PORT, Stage, Timings, proto,
};
use prost::Message;
use prost_reflect::{DeserializeOptions, DynamicMessage};
use serde_json::{Value, json};

use super::callers::recorded_authority;
use super::compare::Answer;
use super::record::{Call, input};
use crate::support::{Caller, Client, eventually};

/// Machines at 127.40.NET.N for the recorded 10.5.0.N.
pub struct Scene {
    pub fleet: Fleet,
    net: u8,
    pub authority: Authority,
    /// Recorded etcd member IDs and the hostnames they had.
    pub members: BTreeMap<String, String>,
    /// Hostnames and the IDs they have here, as last asked.
    here: BTreeMap<String, u64>,
}

/// The hostname of 10.5.0.N.
pub fn name(host: u8) -> String {
    format!("talos{}", host - 1)
}

impl Scene {
    /// Machines in maintenance.
    pub async fn new(net: u8, hosts: &[u8]) -> Self {
        let timings = Timings {
            // The member's resource is gone before the calls end that hang: see `without_leader`.
            quorum_hang: 4000,
            member_gone: 3800,
            failure: 300,
            trial_factor: 6,
            ..Timings::default()
        };
        Self::with(net, hosts, timings).await
    }

    /// Machines in maintenance whose changes last long enough to be seen by polls on a busy computer.
    pub async fn slow(net: u8, hosts: &[u8]) -> Self {
        let timings = Timings {
            apply: 1500,
            boot: 400,
            runtime: 500,
            ready: 500,
            socket_gone: 60,
            etcd: 400,
            learner: 1600,
            reset_serve: 1800,
            reboot_serve: 300,
            stop: 200,
            down: 300,
            quorum_hang: 300,
            member_gone: 300,
            ..Timings::default()
        };
        Self::with(net, hosts, timings).await
    }

    async fn with(net: u8, hosts: &[u8], timings: Timings) -> Self {
        let node = |host: &u8| NodeSpec {
            name: name(*host),
            address: IpAddr::from([127, 40, net, *host]),
            uuid: uuid(*host),
            macs: Some(vec![format!("02:00:0a:05:00:{host:02x}")]),
            manufacturer: "TalosReal".to_owned(),
            product: "Container".to_owned(),
            container: true,
            ..NodeSpec::default()
        };
        let spec = FleetSpec {
            clusters: vec![ClusterSpec {
                name: "other".into(),
                ..ClusterSpec::default()
            }],
            nodes: hosts.iter().map(node).collect(),
            timings,
            port: None,
        };
        let fleet = Fleet::start(spec).await.unwrap();
        Self {
            fleet,
            net,
            authority: recorded_authority(),
            members: BTreeMap::new(),
            here: BTreeMap::new(),
        }
    }

    pub fn node(&self, host: u8) -> NodeHandle {
        self.fleet.node(&name(host)).unwrap()
    }

    pub fn socket(&self, host: u8) -> SocketAddr {
        SocketAddr::new(IpAddr::from([127, 40, self.net, host]), PORT)
    }

    /// Applies a recorded configuration to a machine in maintenance.
    pub async fn apply(&self, host: u8, file: &str) {
        let request = proto::machine::ApplyConfigurationRequest {
            data: input(file).into_bytes(),
            mode: 1,
            ..proto::machine::ApplyConfigurationRequest::default()
        };
        let mut client = Client::connect(self.socket(host), &Caller::anonymous())
            .await
            .unwrap();
        let path = "/machine.MachineService/ApplyConfiguration";
        let outcome = client
            .call(path, &request, Duration::from_secs(5))
            .await
            .unwrap();
        assert_eq!(
            (outcome.code, outcome.message.as_str()),
            (0, ""),
            "applying {file} to {}",
            name(host)
        );
    }

    /// Configures a control plane and waits until its API and runtime are up, with etcd not running.
    pub async fn configure(&self, host: u8) {
        self.apply(host, "inputs/cp.yaml").await;
        let node = self.node(host);
        eventually("a configured control plane", async || {
            node.serving() && node.runtime_ready()
        })
        .await;
    }

    pub async fn bootstrap(&self, host: u8) {
        let mut client = Client::connect(self.socket(host), &self.caller("os:admin"))
            .await
            .unwrap();
        let path = "/machine.MachineService/Bootstrap";
        let outcome = client
            .call(
                path,
                &proto::machine::BootstrapRequest::default(),
                Duration::from_secs(5),
            )
            .await
            .unwrap();
        assert_eq!(outcome.code, 0, "{}", outcome.message);
        self.running(host).await;
    }

    /// Makes a leader give its leadership away.
    pub async fn forfeit(&self, host: u8) {
        let mut client = Client::connect(self.socket(host), &self.caller("os:admin"))
            .await
            .unwrap();
        let path = "/machine.MachineService/EtcdForfeitLeadership";
        assert_eq!(
            client
                .call(path, &(), Duration::from_secs(5))
                .await
                .unwrap()
                .code,
            0
        );
    }

    /// Remembers the member list a machine tells, for members whose machine no longer knows its ID.
    pub async fn ask_members(&mut self, host: u8) {
        let mut client = Client::connect(self.socket(host), &self.caller("os:admin"))
            .await
            .unwrap();
        let request = proto::machine::EtcdMemberListRequest::default();
        let path = "/machine.MachineService/EtcdMemberList";
        let outcome = client
            .call(path, &request, Duration::from_secs(5))
            .await
            .unwrap();
        let list =
            proto::machine::EtcdMemberListResponse::decode(outcome.messages[0].clone()).unwrap();
        self.here = list.messages[0]
            .members
            .iter()
            .map(|member| (member.hostname.clone(), member.id))
            .collect();
    }

    /// Waits until the first moments after the loss of quorum are over, in which calls hang: etcd says that it has no leader.
    pub async fn without_leader(&self, host: u8) {
        let path = "/machine.MachineService/EtcdMemberList";
        let request = proto::machine::EtcdMemberListRequest::default();
        eventually("etcd to say that it has no leader", async || {
            let caller = self.caller("os:admin");
            let Ok(mut client) = Client::connect(self.socket(host), &caller).await else {
                return false;
            };
            let outcome = client.call(path, &request, Duration::from_secs(10)).await;
            outcome.is_ok_and(|outcome| outcome.message.contains("no leader"))
        })
        .await;
    }

    pub async fn running(&self, host: u8) {
        let node = self.node(host);
        eventually(&format!("{} runs", name(host)), async || {
            node.stage() == Stage::Running && node.serving()
        })
        .await;
    }

    /// Brings a machine in maintenance into the cluster.
    pub async fn join(&self, host: u8, file: &str) {
        self.apply(host, file).await;
        self.running(host).await;
    }

    /// Control planes of the recorded cluster, the first bootstrapped.
    pub async fn cluster(net: u8, control_planes: &[u8], others: &[u8]) -> Self {
        let hosts: Vec<u8> = control_planes.iter().chain(others).copied().collect();
        let scene = Self::new(net, &hosts).await;
        scene.form(control_planes).await;
        scene
    }

    /// Makes a cluster of machines in maintenance, the first bootstrapped.
    pub async fn form(&self, control_planes: &[u8]) {
        self.configure(control_planes[0]).await;
        self.bootstrap(control_planes[0]).await;
        for host in &control_planes[1..] {
            self.join(*host, "inputs/cp.yaml").await;
        }
    }

    /// Sends a recorded call as its caller; the answer in the form of a recording.
    pub async fn send(&self, call: &Call) -> Answer {
        let method = proto::method(&format!("/{}", call.name()));
        let body = method.as_ref().map_or_else(Vec::new, |method| {
            let json = self.request(call);
            // Requests of writes are not in the subset: they are refused before they are read.
            let write = method.input().name() == "WriteRequest";
            let options = DeserializeOptions::new().deny_unknown_fields(!write);
            DynamicMessage::deserialize_with_options(method.input(), json, &options)
                .unwrap_or_else(|error| panic!("n {}: request of {}: {error}", call.n, call.name()))
                .encode_to_vec()
        });
        let streaming = method
            .as_ref()
            .is_some_and(prost_reflect::MethodDescriptor::is_server_streaming);
        // What hangs is given a moment; a watch as long as it needs for the recorded messages.
        let watched = call.stream_count.filter(|count| *count > 0);
        let hangs = call.deadline_hit && watched.is_none();
        let history = call.note.as_deref() == Some("tail events");
        let deadline = Duration::from_millis(if hangs || history { 250 } else { 10_000 });
        let mut client =
            match Client::connect(self.socket(call.host()), &self.caller(&call.caller)).await {
                Ok(client) => client,
                Err(error) => return unavailable(&format!("{error:#}")),
            };
        let metadata = self.metadata(call);
        let outcome = match client
            .stream(
                &format!("/{}", call.name()),
                body,
                &metadata,
                deadline,
                watched,
            )
            .await
        {
            Ok(outcome) => outcome,
            Err(error) => return unavailable(&format!("{error:#}")),
        };
        let messages: Vec<Value> = outcome
            .messages
            .iter()
            .filter_map(|message| {
                method
                    .as_ref()
                    .and_then(|method| proto::response_json(method, message))
            })
            .collect();
        let response = if streaming {
            (!messages.is_empty()).then_some(Value::Array(messages))
        } else {
            messages.into_iter().next()
        };
        Answer {
            code: code_name(outcome.code).to_owned(),
            message: self.recorded(&outcome.message),
            response: response.map(|response| {
                serde_json::from_str(&self.recorded(&response.to_string())).unwrap()
            }),
            deadline: outcome.deadline,
        }
    }

    fn request(&self, call: &Call) -> Value {
        let mut json: Value =
            serde_json::from_str(&self.simulated(&call.request.to_string())).unwrap();
        if call.method == "ApplyConfiguration" {
            let text = match (&call.request_data_file, &call.request_data_text) {
                (Some(file), _) => input(file),
                (None, Some(text)) => text.clone(),
                (None, None) => return json,
            };
            json["data"] = json!(base64::Engine::encode(
                &base64::engine::general_purpose::STANDARD,
                text
            ));
        }
        if let Some(id) = json["member_id"].as_str()
            && let Some(hostname) = self.members.get(id)
        {
            let here = self.member(hostname);
            json["member_id"] = json!(here.map_or_else(|| id.to_owned(), |id| id.to_string()));
        }
        json
    }

    fn metadata(&self, call: &Call) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for (key, value) in call.metadata.as_object().into_iter().flatten() {
            let values = value
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![value.clone()]);
            pairs.extend(values.iter().map(|value| {
                (
                    key.clone(),
                    self.simulated(value.as_str().unwrap_or_default()),
                )
            }));
        }
        pairs
    }

    /// ID of the member that has (or last had) this hostname.
    fn member(&self, hostname: &str) -> Option<u64> {
        let node = self
            .fleet
            .nodes()
            .iter()
            .find(|node| node.hostname() == hostname);
        node.and_then(NodeHandle::etcd_member_id)
            .or_else(|| self.here.get(hostname).copied())
    }

    /// Recorded addresses turned into ours.
    pub fn simulated(&self, text: &str) -> String {
        text.replace("10.5.0.", &format!("127.40.{}.", self.net))
    }

    /// Our addresses and member IDs turned into the recorded ones.
    pub fn recorded(&self, text: &str) -> String {
        let mut text = text.replace(&format!("127.40.{}.", self.net), "10.5.0.");
        for (id, hostname) in &self.members {
            if let Some(here) = self.member(hostname) {
                text = text.replace(&here.to_string(), id);
            }
        }
        text
    }
}

fn unavailable(error: &str) -> Answer {
    Answer {
        code: "Unavailable".to_owned(),
        message: error.to_owned(),
        response: None,
        deadline: false,
    }
}

fn code_name(code: i32) -> &'static str {
    const NAMES: [&str; 17] = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    usize::try_from(code)
        .ok()
        .and_then(|code| NAMES.get(code))
        .copied()
        .unwrap_or("Unknown")
}

fn uuid(host: u8) -> Option<String> {
    let tail = match host {
        2 => "c90cb9116e73",
        3 => "ca0cb9117026",
        5 => "cc0cb911738c",
        _ => return None,
    };
    Some(format!("4a000000-0000-4000-8000-{tail}"))
}
