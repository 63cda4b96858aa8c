//! Calls on a connection: what is read, what is sent once, and what bounds them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{clock, dialer, eventually, fleet, minted, options};
use ichor_certs::Role as ClientRole;
use ichor_simulator::{Action, Fault};
use ichor_talos::{
    Class, Connection, Dialer, DialerOptions, Kind, LeaseLost, MachineType, Outcome, Pool,
    ResetRequest, Stage, Talosconfig,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_member_tells_who_it_is() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let connection = dialer()
        .connect(node.address(), &minted(&fleet, ClientRole::Reader))
        .await
        .expect("connected");

    let identity = connection.identity().await.expect("identity");
    assert_eq!(identity.uuid, node.uuid());
    assert_eq!(identity.serial, node.serial());
    assert_eq!(identity.macs, node.macs());
    let info = connection
        .cluster_info()
        .await
        .expect("info")
        .expect("configured");
    assert_eq!(
        (info.id.as_str(), info.name.as_str()),
        (common::bundle(&fleet).cluster_id(), "prod")
    );
    assert_eq!(
        connection.machine_type().await.expect("type"),
        MachineType::ControlPlane
    );
    assert_eq!(connection.stage().await.expect("stage"), Stage::Running);
    assert_eq!(
        connection.boot_id().await.expect("boot ID"),
        Some(node.boot_id())
    );
    assert_eq!(
        connection.hostname().await.expect("hostname").as_deref(),
        Some("cp-1")
    );
    assert_eq!(
        connection.node_name().await.expect("node name").as_deref(),
        Some("cp-1")
    );
    assert!(
        connection
            .version()
            .await
            .expect("version")
            .tag
            .starts_with("v1.")
    );
    assert!(!connection.services().await.expect("services").is_empty());
    let volumes = connection.volumes().await.expect("volumes");
    for name in ["STATE", "EPHEMERAL"] {
        let volume = volumes
            .iter()
            .find(|volume| volume.name == name)
            .expect(name);
        assert_eq!(volume.phase, "ready", "{name}");
    }
    let disks = connection.disks().await.expect("disks");
    assert!(
        disks.iter().any(|disk| disk.system && disk.size > 0),
        "{disks:?}"
    );
    assert!(
        !connection
            .discovered_volumes()
            .await
            .expect("discovered")
            .is_empty()
    );

    let members = connection.etcd_members().await.expect("members");
    assert_eq!(members.len(), 3);
    let own = connection.etcd_local_member_id().await.expect("own member");
    assert_eq!(own, node.etcd_member_id());
    let status = connection.etcd_status().await.expect("status");
    assert!(status.is_healthy());
    assert_eq!(Some(status.member_id), own);

    let connections: std::collections::BTreeSet<u64> =
        node.calls().iter().map(|call| call.connection).collect();
    assert_eq!(connections.len(), 1, "all on one connection");
}

#[tokio::test]
async fn what_a_machine_in_maintenance_mode_does_not_have_is_none() {
    let fleet = fleet().await;
    let node = fleet.node("new-1").expect("node");
    let connection = dialer()
        .connect_maintenance(node.address(), None)
        .await
        .expect("connected");
    assert_eq!(
        connection.identity().await.expect("identity").uuid,
        node.uuid()
    );
    assert_eq!(connection.cluster_info().await.expect("info"), None);
    assert_eq!(connection.node_name().await.expect("node name"), None);
    assert_eq!(
        connection.etcd_local_member_id().await.expect("member"),
        None
    );
    assert_eq!(
        connection.machine_type().await.expect("type"),
        MachineType::Unknown
    );
    assert_eq!(
        connection.boot_id().await.expect("boot ID"),
        Some(node.boot_id())
    );
    let fault = connection
        .etcd_members()
        .await
        .expect_err("no control plane");
    assert_eq!(
        (fault.class(), fault.kind()),
        (Class::Invalid, Kind::Unsupported)
    );
    let fault = connection
        .reset(ResetRequest { graceful: false })
        .await
        .expect_err("not allowed");
    assert_eq!(
        (fault.class(), fault.kind(), fault.outcome()),
        (Class::Refused, Kind::Role, Outcome::NotCarriedOut)
    );
}

async fn connected(fleet: &ichor_simulator::Fleet, name: &str, role: ClientRole) -> Connection {
    let at = fleet.node(name).expect(name).address();
    dialer()
        .connect(at, &minted(fleet, role))
        .await
        .expect("connected")
}

#[tokio::test]
async fn a_reset_goes_over_the_connection_of_the_identity_and_wipes_what_is_named() {
    let fleet = fleet().await;
    let node = fleet.node("worker-1").expect("node");
    let connection = connected(&fleet, "worker-1", ClientRole::Admin).await;
    connection.identity().await.expect("identity");
    let actor = connection
        .reset(ResetRequest { graceful: true })
        .await
        .expect("accepted");
    assert!(!actor.is_empty());
    eventually("the worker is back in maintenance mode", async || {
        node.in_maintenance()
    })
    .await;

    let resets = node.calls_of("Reset");
    assert_eq!(resets.len(), 1);
    assert_eq!(resets[0].connection, node.calls_of("Get")[0].connection);
    assert_eq!(node.wiped(), ["STATE", "EPHEMERAL"]);
    let request = resets[0].request.to_string();
    for part in ["\"reboot\":true", "\"graceful\":true", "STATE", "EPHEMERAL"] {
        assert!(request.contains(part), "{part}: {request}");
    }

    let gone = connection
        .identity()
        .await
        .expect_err("the connection is over");
    assert_eq!(
        (gone.class(), gone.outcome()),
        (Class::Unreachable, Outcome::NotCarriedOut)
    );
    assert!(!connection.is_usable());
}

/// DESIGN section 18, decision 4: a lost answer keeps the record, a refusal does not.
#[tokio::test]
async fn the_outcome_of_a_reset_that_failed_is_known_or_unknown() {
    let fleet = fleet().await;
    let refuse = |code, message: &str| Action::Refuse {
        code,
        message: message.to_owned(),
    };
    for (what, action, class, outcome) in [
        (
            "dropped before",
            Action::DropBefore,
            Class::Unreachable,
            Outcome::Unknown,
        ),
        ("no answer", Action::Hang, Class::NotReady, Outcome::Unknown),
        (
            "unavailable",
            refuse(14, "connection error"),
            Class::NotReady,
            Outcome::Unknown,
        ),
        (
            "denied",
            refuse(7, "not authorized"),
            Class::Refused,
            Outcome::NotCarriedOut,
        ),
        (
            "bad",
            refuse(3, "no"),
            Class::Invalid,
            Outcome::NotCarriedOut,
        ),
        (
            "busy",
            refuse(9, "another reset is already in progress"),
            Class::Busy,
            Outcome::NotCarriedOut,
        ),
        (
            "unlocated",
            refuse(2, "failed to reset: volume \"STATE\" is not located"),
            Class::Invalid,
            Outcome::NotCarriedOut,
        ),
        (
            "gone",
            refuse(5, "no such thing"),
            Class::Gone,
            Outcome::NotCarriedOut,
        ),
    ] {
        let node = fleet.node("cp-1").expect("node");
        node.fault(Fault::on("Reset", action).times(1));
        let quick = Dialer::new(DialerOptions {
            call_timeout: Duration::from_millis(500),
            ..options()
        });
        let connection = quick
            .connect(node.address(), &minted(&fleet, ClientRole::Admin))
            .await
            .expect("connected");
        let fault = connection
            .reset(ResetRequest { graceful: true })
            .await
            .expect_err(what);
        assert_eq!(
            (fault.class(), fault.outcome()),
            (class, outcome),
            "{what}: {fault:?}"
        );
        node.clear_faults();
    }
    assert_eq!(
        fleet.node("cp-1").expect("node").calls_of("Reset").len(),
        8,
        "one call each"
    );
}

/// FAULTS 30: a node may say anything; it is not repeated.
#[tokio::test]
async fn what_a_node_says_stays_out_of_the_text() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let connection = connected(&fleet, "cp-1", ClientRole::Admin).await;
    for code in 1..=16 {
        let message = "SENTINEL-REMOTE-TEXT".to_owned();
        node.fault(Fault::on("Version", Action::Refuse { code, message }).times(1));
        let fault = connection.version().await.expect_err("refused");
        assert!(
            !format!("{fault}{}", fault.summary()).contains("SENTINEL"),
            "{code}: {fault}"
        );
        assert!(
            fault
                .remote_text()
                .is_some_and(|text| text.contains("SENTINEL")),
            "{code}"
        );
        assert!(
            fault.to_string().contains(&node.address().to_string()),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn every_call_ends_by_its_deadline() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    for method in ["Version", "Get", "List", "EtcdMemberList"] {
        node.fault(Fault::on(method, Action::Hang));
    }
    let quick = Dialer::new(DialerOptions {
        call_timeout: Duration::from_millis(200),
        ..options()
    });
    let began = Instant::now();
    for call in 0..4 {
        let connection = quick
            .connect(node.address(), &minted(&fleet, ClientRole::Admin))
            .await
            .expect("connected");
        let fault = match call {
            0 => connection.version().await.map(|_| ()),
            1 => connection.identity().await.map(|_| ()),
            2 => connection.volumes().await.map(|_| ()),
            _ => connection.etcd_members().await.map(|_| ()),
        }
        .expect_err("hangs");
        assert_eq!(
            (fault.class(), fault.kind()),
            (Class::NotReady, Kind::Deadline),
            "{call}"
        );
    }
    assert!(began.elapsed() < Duration::from_secs(3));
}

/// FAULTS 31: nothing is sent past the lease, and what is under way then is broken off.
#[tokio::test]
async fn the_lease_bounds_every_call() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let held = Arc::new(AtomicBool::new(true));
    let until = Arc::new(Mutex::new(Instant::now() + Duration::from_mins(1)));
    let guard = {
        let (held, until) = (Arc::clone(&held), Arc::clone(&until));
        move || {
            if held.load(Ordering::SeqCst) {
                Ok(*until.lock().expect("lock"))
            } else {
                Err(LeaseLost)
            }
        }
    };
    let dialer = Dialer::new(DialerOptions {
        guard: Arc::new(guard),
        ..options()
    });
    let credential = minted(&fleet, ClientRole::Admin);
    let connection = dialer
        .connect(node.address(), &credential)
        .await
        .expect("connected");
    connection.version().await.expect("under the lease");

    node.fault(Fault::on("Version", Action::Hang));
    *until.lock().expect("lock") = Instant::now() + Duration::from_millis(200);
    let began = Instant::now();
    let fault = connection.version().await.expect_err("broken off");
    assert_eq!(
        (fault.kind(), fault.outcome()),
        (Kind::LeaseLost, Outcome::Unknown)
    );
    assert!(began.elapsed() < Duration::from_secs(2));

    let before = node.calls().len();
    for lost in [false, true] {
        held.store(!lost, Ordering::SeqCst);
        let fault = connection
            .reset(ResetRequest { graceful: true })
            .await
            .expect_err("not sent");
        assert_eq!(
            (fault.kind(), fault.outcome()),
            (Kind::LeaseLost, Outcome::NotCarriedOut)
        );
        let fault = dialer
            .connect(node.address(), &credential)
            .await
            .expect_err("not dialled");
        assert_eq!(fault.kind(), Kind::LeaseLost);
    }
    assert_eq!(node.calls().len(), before);
}

/// A lease is renewed while a call runs: the call outlives the deadline it began under, and a node that hangs is a node
/// that hangs and no lost lease.
#[tokio::test]
async fn a_renewed_lease_lets_a_call_go_on() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let dialer = Dialer::new(DialerOptions {
        guard: Arc::new(|| Ok(Instant::now() + Duration::from_millis(150))),
        call_timeout: Duration::from_secs(2),
        ..options()
    });
    let connection = dialer
        .connect(node.address(), &minted(&fleet, ClientRole::Admin))
        .await
        .expect("connected");
    node.fault(Fault::on("Version", Action::Slow { ms: 600 }).times(1));
    connection.version().await.expect("slow");
    node.fault(Fault::on("Version", Action::Hang));
    let fault = connection.version().await.expect_err("hangs");
    assert_eq!(
        (fault.class(), fault.kind()),
        (Class::NotReady, Kind::Deadline)
    );
}

#[tokio::test]
async fn a_broken_connection_stays_broken() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let connection = connected(&fleet, "cp-1", ClientRole::Admin).await;
    connection.version().await.expect("stands");
    node.drop_connections().await.expect("dropped");
    eventually("the end is seen", async || !connection.is_usable()).await;
    let before = node.calls().len();
    let fault = connection
        .reset(ResetRequest { graceful: false })
        .await
        .expect_err("broken");
    assert_eq!(
        (fault.class(), fault.outcome()),
        (Class::Unreachable, Outcome::NotCarriedOut)
    );
    assert_eq!(node.calls().len(), before, "no reconnect");
}

#[tokio::test]
async fn the_pool_reuses_what_stands_and_replaces_what_broke() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let credential = minted(&fleet, ClientRole::Admin);
    let pool = Pool::new(dialer());
    let number = || node.calls().last().map(|call| call.connection);
    for _ in 0..3 {
        let connection = pool.get(node.address(), &credential).await.expect("pooled");
        connection.version().await.expect("version");
        assert_eq!(number(), Some(1));
    }
    node.drop_connections().await.expect("dropped");
    eventually("a new connection serves", async || {
        let Ok(connection) = pool.get(node.address(), &credential).await else {
            return false;
        };
        connection.version().await.is_ok()
    })
    .await;
    assert_eq!(number(), Some(2));
    let other = minted(&fleet, ClientRole::Reader);
    pool.get(node.address(), &other)
        .await
        .expect("another credential");
    assert_eq!(pool.len(), 2);
}

#[tokio::test]
async fn a_pasted_talosconfig_dials() {
    let fleet = fleet().await;
    let text = fleet.admin_talosconfig("prod").expect("talosconfig");
    let credential = Talosconfig::parse(&text)
        .expect("parses")
        .context(None)
        .expect("credential");
    let strict = Dialer::new(DialerOptions {
        allow_local_addresses: true,
        ..DialerOptions::new(clock())
    });
    let connection = strict
        .connect(fleet.net.at(2), &credential)
        .await
        .expect("connected");
    assert!(connection.cluster_info().await.expect("info").is_some());
}
