//! What the fields of a request have to be. They are looked at once: none of them changes.

use crate::common::{reference_name, seconds};
use crate::field::FieldError;
use crate::request::Change;
use ichor_crds::{TalosAccessRequest, TalosAccessRequestSpec, TalosRole};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

type Snapshot = crate::request::Snapshot<TalosAccessRequest>;

const SHORTEST: u64 = 600;
const LONGEST: u64 = 168 * 3600;
/// RSA keys shorter than this are not signed.
const RSA_BITS: usize = 2048;

pub(super) fn cluster_name(snapshot: &Snapshot) -> Vec<FieldError> {
    let reference = created(snapshot).map(|spec| &spec.cluster_ref);
    reference_name("spec.clusterRef.name", reference)
        .into_iter()
        .collect()
}

pub(super) fn reason(snapshot: &Snapshot) -> Vec<FieldError> {
    let empty = created(snapshot).is_some_and(|spec| spec.reason.trim().is_empty());
    let why = "say why the access is needed, for whoever decides";
    empty
        .then(|| FieldError::required("spec.reason", why))
        .into_iter()
        .collect()
}

pub(super) fn duration(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(text) = created(snapshot).map(|spec| &spec.duration) else {
        return Vec::new();
    };
    if seconds(text).is_some_and(|seconds| (SHORTEST..=LONGEST).contains(&seconds)) {
        return Vec::new();
    }
    let why = "must be a duration from 10m to 168h in hours, minutes and seconds, such as 8h";
    vec![FieldError::invalid("spec.duration", text, why)]
}

/// One certificate signing request, made with the key that it names. Its text is not repeated: somebody may
/// have pasted a private key.
pub(super) fn csr(snapshot: &Snapshot) -> Vec<FieldError> {
    let error = created(snapshot).and_then(|spec| defect(&spec.csr));
    let make = "make one with: openssl req -new -newkey ed25519 -nodes -keyout key.pem -subj /CN=me -out csr.pem";
    let error = error.map(|defect| FieldError::forbidden("spec.csr", format!("{defect}; {make}")));
    error.into_iter().collect()
}

fn defect(text: &str) -> Option<&'static str> {
    let Ok(blocks) = pem::parse_many(text) else {
        return Some("is not PEM");
    };
    if blocks
        .iter()
        .any(|block| block.tag().contains("PRIVATE KEY"))
    {
        return Some(
            "holds a private key, which has to stay on your machine: it is known to others now, make a new one",
        );
    }
    let [block] = blocks.as_slice() else {
        return Some("has to be exactly one certificate signing request in PEM");
    };
    if block.tag() != "CERTIFICATE REQUEST" {
        return Some("is no certificate signing request (-----BEGIN CERTIFICATE REQUEST-----)");
    }
    let Ok((rest, request)) = X509CertificationRequest::from_der(block.contents()) else {
        return Some("is no certificate signing request that can be read");
    };
    if !rest.is_empty() {
        return Some("has something behind the certificate signing request");
    }
    match request.certification_request_info.subject_pki.parsed() {
        Ok(PublicKey::RSA(key)) if key.key_size() < RSA_BITS => {
            return Some("has an RSA key of less than 2048 bits");
        }
        Ok(PublicKey::RSA(_) | PublicKey::EC(_) | PublicKey::Unknown(_)) => {}
        _ => return Some("has a key of a kind that Talos does not take: Ed25519, ECDSA or RSA"),
    }
    request
        .verify_signature()
        .is_err()
        .then_some("is not signed with the key that it names")
}

/// Root on every node for longer than a day.
pub(super) fn long_admin(snapshot: &Snapshot) -> Option<String> {
    let spec = created(snapshot)?;
    let long = seconds(&spec.duration)? > 24 * 3600;
    (spec.role == TalosRole::Admin && long).then(|| {
        format!("os:admin for {}: the certificate cannot be taken back before it expires, a shorter duration is safer", spec.duration)
    })
}

fn created(snapshot: &Snapshot) -> Option<&TalosAccessRequestSpec> {
    match &snapshot.facts.change {
        Change::Create { spec } => Some(spec),
        _ => None,
    }
}
