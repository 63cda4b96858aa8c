//! The engine end to end over real sockets: TLS, roles, apply, reset, faults, IPv6.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use prost::Message;
use support::{Caller, Client, eventually};

use ichor_simulator::pki::{ClientOptions, Usage};
use ichor_simulator::proto::{cosi, machine, specs};
use ichor_simulator::{
    Action, ClusterSpec, Fault, Fleet, FleetSpec, NodeHandle, NodeSpec, Role, Stage,
};

/// Longer than any answer takes on a busy computer.
const PATIENCE: Duration = Duration::from_secs(20);

fn socket(node: &NodeHandle) -> SocketAddr {
    SocketAddr::new(node.address(), ichor_simulator::PORT)
}

async fn cluster(net: u8) -> Fleet {
    let member = |name: &str, host: u8, role| {
        NodeSpec::member(name, &format!("127.9.{net}.{host}"), "prod", role).unwrap()
    };
    Fleet::start(FleetSpec {
        clusters: vec![ClusterSpec {
            name: "prod".into(),
            ..ClusterSpec::default()
        }],
        nodes: vec![
            member("worker-1", 4, Role::Worker),
            member("cp-1", 1, Role::ControlPlane),
            member("cp-2", 2, Role::ControlPlane),
            member("cp-3", 3, Role::ControlPlane),
            NodeSpec::maintenance("new-1", &format!("127.9.{net}.5")).unwrap(),
        ],
        ..FleetSpec::default()
    })
    .await
    .unwrap()
}

fn caller(fleet: &Fleet, options: &ClientOptions) -> Caller {
    let bundle = fleet.secrets("prod").unwrap();
    Caller::with(
        &bundle.client(options).unwrap(),
        Some(bundle.os_ca().unwrap().certificate),
    )
}

fn admin(fleet: &Fleet) -> Caller {
    caller(fleet, &ClientOptions::with_roles(&["os:admin"]))
}

async fn call(
    node: &NodeHandle,
    caller: &Caller,
    path: &str,
    message: &impl Message,
) -> support::Outcome {
    let mut client = Client::connect(socket(node), caller).await.unwrap();
    client.call(path, message, PATIENCE).await.unwrap()
}

fn get(namespace: &str, kind: &str, id: &str) -> cosi::GetRequest {
    cosi::GetRequest {
        namespace: namespace.into(),
        r#type: kind.into(),
        id: id.into(),
        options: None,
    }
}

const GET: &str = "/cosi.resource.State/Get";
const RESET: &str = "/machine.MachineService/Reset";
const VERSION: &str = "/machine.MachineService/Version";
const MEMBERS: &str = "/machine.MachineService/EtcdMemberList";

fn wipe(graceful: bool) -> machine::ResetRequest {
    let partition = |label: &str| machine::ResetPartitionSpec {
        label: label.into(),
        wipe: true,
    };
    machine::ResetRequest {
        graceful,
        reboot: true,
        system_partitions_to_wipe: vec![partition("STATE"), partition("EPHEMERAL")],
        ..machine::ResetRequest::default()
    }
}

#[tokio::test]
async fn maintenance_answers_anyone_and_becomes_a_member() {
    let fleet = cluster(1).await;
    let node = fleet.node("new-1").unwrap();
    let anyone = Caller::anonymous();
    let answer = call(&node, &anyone, VERSION, &()).await;
    assert_eq!(answer.code, 0);
    let version = machine::VersionResponse::decode(answer.messages[0].clone()).unwrap();
    assert!(version.messages[0].features.is_none());
    let answer = call(&node, &anyone, RESET, &wipe(true)).await;
    assert_eq!(
        (answer.code, answer.message.as_str()),
        (7, "not authorized")
    );

    let data = fleet
        .machine_config("prod", "new-1", Role::ControlPlane)
        .unwrap()
        .into_bytes();
    let apply = machine::ApplyConfigurationRequest {
        data,
        mode: 1,
        ..Default::default()
    };
    let answer = call(
        &node,
        &anyone,
        "/machine.MachineService/ApplyConfiguration",
        &apply,
    )
    .await;
    assert_eq!((answer.code, answer.message.as_str()), (0, ""));
    eventually("new-1 runs", async || {
        node.stage() == Stage::Running && node.etcd_running()
    })
    .await;
    let answer = call(
        &node,
        &admin(&fleet),
        MEMBERS,
        &machine::EtcdMemberListRequest::default(),
    )
    .await;
    let members = machine::EtcdMemberListResponse::decode(answer.messages[0].clone()).unwrap();
    assert_eq!(members.messages[0].members.len(), 4);
}

#[tokio::test]
async fn client_certificates_are_judged() {
    let fleet = cluster(2).await;
    let node = fleet.node("cp-1").unwrap();
    let now = time::OffsetDateTime::now_utc();
    let good = ClientOptions::with_roles(&["os:admin"]);
    let bad = [
        (
            "certificate expired",
            ClientOptions {
                not_after: now - time::Duration::minutes(1),
                ..good.clone()
            },
        ),
        (
            "bad certificate",
            ClientOptions {
                usages: vec![Usage::Server, Usage::Client],
                ..good.clone()
            },
        ),
        (
            "bad certificate",
            ClientOptions {
                usages: vec![],
                ..good.clone()
            },
        ),
    ];
    for (alert, options) in bad {
        let error = refusal(&node, &caller(&fleet, &options)).await;
        assert!(
            error
                .to_lowercase()
                .replace("certificateexpired", "certificate expired")
                .replace("badcertificate", "bad certificate")
                .contains(alert),
            "{alert}: {error}"
        );
    }
    let error = refusal(
        &node,
        &Caller {
            certificate: None,
            ..admin(&fleet)
        },
    )
    .await;
    assert!(error.contains("CertificateRequired"), "{error}");
    let other = ichor_simulator::Bundle::generate().unwrap();
    let foreign = Caller::with(&other.client(&good).unwrap(), None);
    let error = refusal(&node, &foreign).await;
    assert!(error.contains("UnknownCA"), "{error}");
    for roles in [&[][..], &["os:nonsense"], &["os:impersonator"]] {
        let answer = call(
            &node,
            &caller(&fleet, &ClientOptions::with_roles(roles)),
            VERSION,
            &(),
        )
        .await;
        assert_eq!(
            (answer.code, answer.message.as_str()),
            (7, "not authorized")
        );
    }
    // A node whose clock is behind takes a fresh certificate for one of the future.
    node.set_clock_offset(-3600).await.unwrap();
    let blind = Caller {
        ca: None,
        ..admin(&fleet)
    };
    let error = refusal(&node, &blind).await;
    assert!(error.contains("CertificateExpired"), "{error}");
}

/// The error of a first call, alert included: TLS 1.3 tells a client only after its handshake.
async fn refusal(node: &NodeHandle, caller: &Caller) -> String {
    use tokio::io::AsyncReadExt;
    let stream = tokio::net::TcpStream::connect(socket(node)).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(support::config(caller)));
    let name = rustls_pki_types::ServerName::from(node.address());
    match connector.connect(name, stream).await {
        Err(error) => format!("{error:?}"),
        Ok(mut stream) => match stream.read_u8().await {
            Err(error) => format!("{error:?}"),
            Ok(_) => panic!("the server served this certificate"),
        },
    }
}

#[tokio::test]
async fn graceful_reset_leaves_etcd_and_returns_in_maintenance() {
    let fleet = cluster(3).await;
    let node = fleet.node("cp-3").unwrap();
    let before = (node.boot_id(), node.node_identity());
    let answer = call(&node, &admin(&fleet), RESET, &wipe(true)).await;
    assert_eq!((answer.code, answer.message.as_str()), (0, ""));
    eventually("member left", async || {
        fleet.etcd_members("prod").unwrap().len() == 2
    })
    .await;
    assert!(
        !node.in_maintenance(),
        "the member leaves before the machine goes down"
    );
    eventually("maintenance", async || node.in_maintenance()).await;
    assert_ne!(before.0, node.boot_id());
    assert_ne!(before.1, node.node_identity());
    let error = Client::connect(socket(&node), &admin(&fleet))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
    let answer = call(
        &node,
        &Caller::anonymous(),
        GET,
        &get(
            "hardware",
            "SystemInformations.hardware.talos.dev",
            "systeminformation",
        ),
    )
    .await;
    let resource = cosi::GetResponse::decode(answer.messages[0].clone())
        .unwrap()
        .resource
        .unwrap();
    let spec = specs::SystemInformation::decode(&resource.spec.unwrap().proto_spec[..]).unwrap();
    assert_eq!(spec.uuid, node.uuid());
    assert_eq!(node.calls_of("Reset").len(), 1);
    assert_eq!(node.calls_of("Reset")[0].subject, ["os:admin"]);
}

#[tokio::test]
async fn ungraceful_reset_leaves_the_member_behind() {
    let fleet = cluster(4).await;
    let node = fleet.node("cp-2").unwrap();
    call(&node, &admin(&fleet), RESET, &wipe(false)).await;
    eventually("maintenance", async || node.in_maintenance()).await;
    let members = fleet.etcd_members("prod").unwrap();
    let stale = members
        .iter()
        .find(|member| member.hostname == "cp-2")
        .unwrap();
    assert!(!stale.running);
    let other = fleet.node("cp-1").unwrap();
    let request = machine::EtcdRemoveMemberByIdRequest {
        member_id: stale.id,
    };
    let answer = call(
        &other,
        &admin(&fleet),
        "/machine.MachineService/EtcdRemoveMemberByID",
        &request,
    )
    .await;
    assert_eq!(answer.code, 0);
    assert_eq!(fleet.etcd_members("prod").unwrap().len(), 2);
}

#[tokio::test]
async fn last_control_plane_cannot_be_reset_gracefully() {
    let fleet = Fleet::start(FleetSpec {
        clusters: vec![ClusterSpec {
            name: "prod".into(),
            ..ClusterSpec::default()
        }],
        nodes: vec![NodeSpec::member("only", "127.9.5.1", "prod", Role::ControlPlane).unwrap()],
        ..FleetSpec::default()
    })
    .await
    .unwrap();
    let node = fleet.node("only").unwrap();
    let (boot, identity) = (node.boot_id(), node.node_identity());
    assert_eq!(
        call(&node, &admin(&fleet), RESET, &wipe(true)).await.code,
        0
    );
    eventually("it reboots by itself", async || {
        node.boot_id() != boot && node.stage() == Stage::Running
    })
    .await;
    assert_eq!(node.node_identity(), identity);
    assert_eq!(
        call(
            &node,
            &admin(&fleet),
            MEMBERS,
            &machine::EtcdMemberListRequest::default()
        )
        .await
        .code,
        0
    );
}

#[tokio::test]
async fn quorum_lost_hangs_then_fails_and_reset_waits() {
    let fleet = cluster(6).await;
    fleet.node("cp-2").unwrap().power_off();
    fleet.node("cp-3").unwrap().power_off();
    let node = fleet.node("cp-1").unwrap();
    eventually("no leader", async || {
        call(
            &node,
            &admin(&fleet),
            MEMBERS,
            &machine::EtcdMemberListRequest::default(),
        )
        .await
        .message
            == "etcdserver: no leader"
    })
    .await;
    call(&node, &admin(&fleet), RESET, &wipe(true)).await;
    eventually("resetting", async || node.stage() == Stage::Resetting).await;
    // A second reset is dropped although it is answered OK.
    assert_eq!(
        call(&node, &admin(&fleet), RESET, &wipe(false)).await.code,
        0
    );
    eventually("dropped", async || node.sequence_errors().len() == 1).await;
    assert!(!node.in_maintenance());
    // A reboot takes over; the machine comes back as it was.
    let boot = node.boot_id();
    assert_eq!(
        call(
            &node,
            &admin(&fleet),
            "/machine.MachineService/Reboot",
            &machine::RebootRequest::default()
        )
        .await
        .code,
        0
    );
    fleet.node("cp-2").unwrap().power_on();
    eventually("back", async || {
        node.boot_id() != boot && node.stage() == Stage::Running
    })
    .await;
    assert_eq!(fleet.etcd_members("prod").unwrap().len(), 3);
}

#[tokio::test]
async fn faults_strike_and_calls_are_recorded() {
    let fleet = cluster(7).await;
    let node = fleet.node("worker-1").unwrap();
    let admin = admin(&fleet);
    node.fault(
        Fault::on(
            "Version",
            Action::Refuse {
                code: 14,
                message: "no".into(),
            },
        )
        .times(1),
    );
    let answer = call(&node, &admin, VERSION, &()).await;
    assert_eq!((answer.code, answer.message.as_str()), (14, "no"));
    assert_eq!(call(&node, &admin, VERSION, &()).await.code, 0);
    node.fault(Fault::on("Version", Action::Hang).times(1));
    let mut client = Client::connect(socket(&node), &admin).await.unwrap();
    let moment = Duration::from_millis(300);
    assert!(client.call(VERSION, &(), moment).await.unwrap().deadline);
    node.fault(Fault::on("Version", Action::DropBefore).times(1));
    let mut client = Client::connect(socket(&node), &admin).await.unwrap();
    assert!(client.call(VERSION, &(), PATIENCE).await.is_err());
    node.fault(Fault::wrong_identity(
        "00000000-0000-0000-0000-000000000001",
    ));
    let request = get(
        "hardware",
        "SystemInformations.hardware.talos.dev",
        "systeminformation",
    );
    let answer = call(&node, &admin, GET, &request).await;
    assert!(
        String::from_utf8_lossy(&answer.messages[0])
            .contains("00000000-0000-0000-0000-000000000001")
    );
    node.clear_faults();
    let answer = call(&node, &admin, GET, &request).await;
    assert!(String::from_utf8_lossy(&answer.messages[0]).contains(node.uuid()));
    let codes: Vec<_> = node
        .calls_of("Version")
        .into_iter()
        .map(|call| call.code)
        .collect();
    let text = |code: &str| Some(code.to_owned());
    assert_eq!(codes, [text("Unavailable"), text("Ok"), None, None]);
    // An OK is not an effect.
    node.fault(Fault::on("Reset", Action::Ignore).times(1));
    assert_eq!(call(&node, &admin, RESET, &wipe(true)).await.code, 0);
    assert_eq!(node.sequence_errors().len(), 1);
    assert_eq!(node.stage(), Stage::Running);
    // The effect happens, the answer does not come.
    node.fault(Fault::on("Reset", Action::DropAfter));
    let mut client = Client::connect(socket(&node), &admin).await.unwrap();
    assert!(client.call(RESET, &wipe(true), PATIENCE).await.is_err());
    eventually("maintenance", async || node.in_maintenance()).await;
}

#[tokio::test]
async fn ipv6_and_moves() {
    let fleet = Fleet::start(FleetSpec {
        nodes: vec![NodeSpec::maintenance("six", "::1").unwrap()],
        port: Some(50_010),
        ..FleetSpec::default()
    })
    .await
    .unwrap();
    let node = fleet.node("six").unwrap();
    let at = |address| SocketAddr::new(address, 50_010);
    let mut client = Client::connect(at(node.address()), &Caller::anonymous())
        .await
        .unwrap();
    assert_eq!(client.call(VERSION, &(), PATIENCE).await.unwrap().code, 0);
    node.move_to("127.9.8.1".parse().unwrap()).await.unwrap();
    let mut client = Client::connect(at(node.address()), &Caller::anonymous())
        .await
        .unwrap();
    assert_eq!(client.call(VERSION, &(), PATIENCE).await.unwrap().code, 0);
    assert!(
        Client::connect(at("::1".parse().unwrap()), &Caller::anonymous())
            .await
            .is_err()
    );
    drop(fleet);
    eventually("the port closes", async || {
        tokio::net::TcpStream::connect(at(node.address()))
            .await
            .is_err()
    })
    .await;
}
