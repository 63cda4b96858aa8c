//! Replays the handshakes: which certificates are taken, and with what alert the others are refused.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::ServerName;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::reasons::Report;
use super::record::{Line, Tls, host};
use super::scene::Scene;
use crate::support::{Client, config};

/// Handshakes of a file with the callers recorded there.
pub async fn replay(scene: &Scene, file: &str, lines: &[Line], report: &mut Report) {
    for line in lines {
        let Line::Tls(tls) = line else { continue };
        let address = scene.socket(host(&tls.target));
        let expected = recorded(tls);
        let got = attempt(scene, tls, address).await;
        report.handshakes += 1;
        if !expected.contains(got.as_str()) {
            let note = tls.note.as_deref().unwrap_or_default();
            report.note(format!(
                "{} n {} handshake {} {note}: expected {expected:?}, got {got}",
                &file[..2],
                tls.n,
                tls.caller
            ));
        }
    }
}

/// The outcomes of the ten tries; what lost the race against the client's first write says nothing.
fn recorded(tls: &Tls) -> BTreeSet<&'static str> {
    let class = |outcome: &super::record::GrpcOutcome| {
        classify(&format!("{} {}", outcome.code, outcome.message))
    };
    let mut classes: BTreeSet<_> = tls.grpc_outcomes.iter().map(class).collect();
    if classes.len() > 1 {
        classes.remove("lost the race");
    }
    classes
}

fn classify(text: &str) -> &'static str {
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if text.starts_with("OK") {
        "served"
    } else if has(&["not authorized"]) {
        "not authorized"
    } else if has(&["certificate signed by unknown authority", "UnknownIssuer"]) {
        "server not trusted"
    } else if has(&["certificate is valid for", "NotValidForName"]) {
        "server has another name"
    } else if has(&["protocol version not supported", "ProtocolVersion"]) {
        "TLS version refused"
    } else if has(&["certificate required", "CertificateRequired"]) {
        "certificate required"
    } else if has(&["unknown certificate authority", "UnknownCA"]) {
        "unknown authority"
    } else if has(&["expired certificate", "CertificateExpired"]) {
        "expired certificate"
    } else if has(&["bad certificate", "BadCertificate"]) {
        "bad certificate"
    } else {
        "lost the race"
    }
}

async fn attempt(scene: &Scene, tls: &Tls, address: SocketAddr) -> String {
    let caller = scene.caller(&tls.caller);
    let note = tls.note.as_deref().unwrap_or_default();
    let wants = |class: &str| recorded(tls).contains(class);
    let mut config = config(&caller);
    if wants("TLS version refused") {
        config = crate::support::config_tls12(&caller);
    }
    let name = if wants("server has another name") {
        ServerName::try_from("other.example").unwrap()
    } else {
        ServerName::from(address.ip())
    };
    if wants("server not trusted")
        && scene.node(host(&tls.target)).serving()
        && !scene.node(host(&tls.target)).in_maintenance()
    {
        // Recorded with the CA of another cluster.
        config = crate::support::config(&scene.distrusting(&tls.caller));
    }
    let stream = TcpStream::connect(address).await.unwrap();
    let outcome = match TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
    {
        Err(error) => format!("{error:?}"),
        Ok(mut stream) => {
            let first = tokio::time::timeout(Duration::from_secs(5), stream.read_u8()).await;
            if let Ok(Err(error)) = first {
                format!("{error:?}")
            } else {
                let mut client = Client::connect(address, &caller).await.unwrap();
                let deadline = Duration::from_secs(5);
                let outcome = client
                    .call("/machine.MachineService/Version", &(), deadline)
                    .await;
                let outcome = outcome.unwrap();
                if outcome.code == 0 {
                    "OK".to_owned()
                } else {
                    outcome.message
                }
            }
        }
    };
    let class = classify(&outcome);
    if class == "lost the race" {
        format!("{class} ({note}): {outcome}")
    } else {
        class.to_owned()
    }
}
