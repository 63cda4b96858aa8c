//! HTTP and JSON in front of a fleet, for the demo and for tests in other languages.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::calls::{Call, Fault};
use crate::fleet::Fleet;
use crate::node::NodeHandle;
use crate::spec::{KubernetesNode, NodeSpec, Role};

type Shared = State<Arc<Mutex<Fleet>>>;

/// Serves the control API on a listener until it fails.
pub async fn serve_control(listener: TcpListener, fleet: Arc<Mutex<Fleet>>) -> Result<()> {
    axum::serve(listener, router(fleet))
        .await
        .context("control API ended")
}

/// Binds the control API.
pub async fn bind_control(address: SocketAddr) -> Result<TcpListener> {
    anyhow::ensure!(
        address.ip().is_loopback(),
        "the control API gives secrets away: {address} is not a loopback address"
    );
    TcpListener::bind(address)
        .await
        .with_context(|| format!("control API on {address}"))
}

fn router(fleet: Arc<Mutex<Fleet>>) -> Router {
    Router::new()
        .route("/nodes", get(nodes).post(add))
        .route("/nodes/{name}", get(node))
        .route("/nodes/{name}/calls", get(calls).delete(forget))
        .route("/nodes/{name}/fault", get(faults).post(fault).delete(clear))
        .route("/nodes/{name}/power", post(power))
        .route("/nodes/{name}/move", post(move_to))
        .route("/nodes/{name}/clock", post(clock))
        .route("/nodes/{name}/kubernetes", post(register_as))
        .route("/clusters/{name}/bundle", get(bundle))
        .route("/clusters/{name}/talosconfig", get(talosconfig))
        .route("/clusters/{name}/machineconfig", get(machine_config))
        .route("/clusters/{name}/etcd", get(etcd))
        .route("/clusters/{name}/kubernetes", post(kubernetes))
        .with_state(fleet)
}

/// Anything that goes wrong is the request's fault: a name that does not exist, a value that does not fit.
struct Failure(anyhow::Error);

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (
            StatusCode::BAD_REQUEST,
            Json(json!({ "error": format!("{:#}", self.0) })),
        )
            .into_response()
    }
}

type Answer<T> = Result<T, Failure>;

async fn handle(fleet: &Mutex<Fleet>, name: &str) -> Answer<NodeHandle> {
    Ok(fleet.lock().await.node(name)?)
}

fn describe(node: &NodeHandle) -> Value {
    json!({
        "name": node.name(),
        "address": node.address(),
        "hostname": node.hostname(),
        "uuid": node.uuid(),
        "serial": node.serial(),
        "macs": node.macs(),
        "on": node.is_on(),
        "serving": node.serving(),
        "maintenance": node.in_maintenance(),
        "stage": node.stage(),
        "bootID": node.boot_id(),
        "nodeIdentity": node.node_identity(),
        "etcdMemberID": node.etcd_member_id().map(|id| format!("{id:016x}")),
        "wiped": node.wiped(),
    })
}

async fn nodes(State(fleet): Shared) -> Json<Vec<Value>> {
    Json(fleet.lock().await.nodes().iter().map(describe).collect())
}

async fn add(State(fleet): Shared, Json(spec): Json<NodeSpec>) -> Answer<Json<Value>> {
    let node = fleet.lock().await.add(spec).await?;
    Ok(Json(describe(&node)))
}

async fn node(State(fleet): Shared, Path(name): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(describe(&handle(&fleet, &name).await?)))
}

async fn calls(
    State(fleet): Shared,
    Path(name): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Answer<Json<Vec<Call>>> {
    let node = handle(&fleet, &name).await?;
    Ok(Json(match query.get("method") {
        Some(method) => node.calls_of(method),
        None => node.calls(),
    }))
}

async fn forget(State(fleet): Shared, Path(name): Path<String>) -> Answer<StatusCode> {
    handle(&fleet, &name).await?.forget_calls();
    Ok(StatusCode::NO_CONTENT)
}

async fn faults(State(fleet): Shared, Path(name): Path<String>) -> Answer<Json<Vec<Fault>>> {
    Ok(Json(handle(&fleet, &name).await?.faults()))
}

async fn fault(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(fault): Json<Fault>,
) -> Answer<StatusCode> {
    handle(&fleet, &name).await?.fault(fault);
    Ok(StatusCode::NO_CONTENT)
}

async fn clear(State(fleet): Shared, Path(name): Path<String>) -> Answer<StatusCode> {
    handle(&fleet, &name).await?.clear_faults();
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Power {
    on: bool,
}

async fn power(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(power): Json<Power>,
) -> Answer<StatusCode> {
    let node = handle(&fleet, &name).await?;
    if power.on {
        node.power_on();
    } else {
        node.power_off();
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Move {
    address: IpAddr,
}

async fn move_to(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(to): Json<Move>,
) -> Answer<StatusCode> {
    handle(&fleet, &name).await?.move_to(to.address).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Clock {
    offset_seconds: i64,
}

async fn clock(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(clock): Json<Clock>,
) -> Answer<StatusCode> {
    handle(&fleet, &name)
        .await?
        .set_clock_offset(clock.offset_seconds)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn register_as(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(node): Json<KubernetesNode>,
) -> Answer<StatusCode> {
    handle(&fleet, &name).await?.register_as(node);
    Ok(StatusCode::NO_CONTENT)
}

async fn bundle(State(fleet): Shared, Path(name): Path<String>) -> Answer<String> {
    Ok(fleet.lock().await.bundle(&name)?)
}

async fn talosconfig(State(fleet): Shared, Path(name): Path<String>) -> Answer<String> {
    Ok(fleet.lock().await.admin_talosconfig(&name)?)
}

#[derive(Deserialize)]
struct ConfigOf {
    hostname: String,
    role: Role,
}

async fn machine_config(
    State(fleet): Shared,
    Path(name): Path<String>,
    Query(of): Query<ConfigOf>,
) -> Answer<String> {
    Ok(fleet
        .lock()
        .await
        .machine_config(&name, &of.hostname, of.role)?)
}

async fn etcd(State(fleet): Shared, Path(name): Path<String>) -> Answer<Json<Vec<Value>>> {
    let members = fleet.lock().await.etcd_members(&name)?;
    let members = members.iter().map(|member| {
        json!({
            "id": format!("{:016x}", member.id),
            "hostname": member.hostname,
            "learner": member.learner,
            "running": member.running,
        })
    });
    Ok(Json(members.collect()))
}

#[derive(Deserialize)]
struct Kubernetes {
    kubeconfig: String,
}

async fn kubernetes(
    State(fleet): Shared,
    Path(name): Path<String>,
    Json(kubernetes): Json<Kubernetes>,
) -> Answer<StatusCode> {
    fleet
        .lock()
        .await
        .keep_kubernetes(&name, &kubernetes.kubeconfig)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
