//! What the fields of a request have to be. They are looked at once: none of them changes.

use crate::common::{reference_name, seconds};
use crate::field::FieldError;
use crate::request::Change;
use ichor_crds::{TalosAccessRequest, TalosAccessRequestSpec, TalosRole};
use x509_parser::asn1_rs::Any;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::error::X509Error;
use x509_parser::oid_registry::{OID_EC_P256, OID_NIST_EC_P384, OID_SIG_ED25519};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

type Snapshot = crate::request::Snapshot<TalosAccessRequest>;

const SHORTEST: u64 = 600;
const LONGEST: u64 = 168 * 3600;
/// Bits of RSA keys that are signed.
const RSA_LEAST: usize = 2048;
const RSA_MOST: usize = 8192;

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
    if !is_signed_for(&request.certification_request_info.subject_pki) {
        return Some(
            "has a key of a kind that Ichor does not sign: take Ed25519, ECDSA on P-256 or P-384, or RSA of 2048 to 8192 bits",
        );
    }
    match request.verify_signature() {
        Ok(()) => None,
        Err(X509Error::SignatureUnsupportedAlgorithm) => {
            Some("is signed in a way that is not checked here: sign it with SHA-256 or SHA-384")
        }
        Err(_) => Some("is not signed with the key that it names"),
    }
}

/// Keys that Talos's own authorities accept and that are strong enough.
fn is_signed_for(key: &SubjectPublicKeyInfo<'_>) -> bool {
    let algorithm = &key.algorithm;
    match key.parsed() {
        Ok(PublicKey::RSA(rsa)) => (RSA_LEAST..=RSA_MOST).contains(&rsa.key_size()),
        Ok(PublicKey::EC(_)) => {
            let curve = algorithm.parameters.as_ref().map(Any::as_oid);
            matches!(curve, Some(Ok(curve)) if curve == OID_EC_P256 || curve == OID_NIST_EC_P384)
        }
        _ => algorithm.algorithm == OID_SIG_ED25519,
    }
}

/// Everything on every node, which cannot be taken back.
pub(super) fn admin(snapshot: &Snapshot) -> Option<String> {
    let spec = created(snapshot)?;
    (spec.role == TalosRole::Admin).then(|| {
        format!(
            "os:admin can wipe nodes and read every Secret, and cannot be taken back for {}: os:reader is enough to look, os:operator to reboot and upgrade",
            spec.duration
        )
    })
}

fn created(snapshot: &Snapshot) -> Option<&TalosAccessRequestSpec> {
    match &snapshot.facts.change {
        Change::Create { spec } => Some(spec),
        _ => None,
    }
}
