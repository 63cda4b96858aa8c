//! What the other fields of a backup have to be.

use crate::common::{
    fixed_cluster, named, no_user_info, node_address, reference_name, seconds, used_secret,
};
use crate::field::FieldError;
use ichor_crds::{BACKUP_NOW, S3_KEYS, TalosEtcdBackup, TalosEtcdBackupSpec};

type Snapshot = crate::request::Snapshot<TalosEtcdBackup>;

pub(super) fn references(snapshot: &Snapshot) -> Vec<FieldError> {
    let spec = snapshot.facts.spec();
    let now = spec.map(|spec| &spec.cluster_ref);
    let old = snapshot
        .facts
        .change_of_spec()
        .map(|(_, old)| &old.cluster_ref);
    let mut errors = fixed_cluster::<TalosEtcdBackup>(now, old);
    errors.extend(reference_name("spec.clusterRef.name", now));
    let secret = spec.and_then(|spec| spec.destination.s3.as_ref());
    let secret = secret.map(|s3| &s3.credentials_secret_ref);
    errors.extend(reference_name(
        "spec.destination.s3.credentialsSecretRef.name",
        secret,
    ));
    errors
}

/// Something is always kept.
pub(super) fn retention(snapshot: &Snapshot) -> Vec<FieldError> {
    let spec = snapshot.facts.spec();
    let Some(retention) = spec.and_then(|spec| spec.retention.as_ref()) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if retention.count.is_none() && retention.max_age.is_none() {
        let why = "needs count, maxAge or both; leave it out to keep every snapshot";
        errors.push(FieldError::required("spec.retention", why));
    }
    if let Some(count) = retention.count.filter(|count| *count < 1) {
        let why = "keeps no snapshot at all: at least 1";
        errors.push(FieldError::invalid(
            "spec.retention.count",
            &count.to_string(),
            why,
        ));
    }
    if let Some(age) = &retention.max_age
        && seconds(age).is_none_or(|seconds| seconds < 3600)
    {
        let why = "must be a duration of at least 1h in hours, minutes and seconds, such as 720h";
        errors.push(FieldError::invalid("spec.retention.maxAge", age, why));
    }
    errors
}

/// Exactly one destination, which is not the controller's own host or link, and not in the clear.
pub(super) fn destination(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let destination = &spec.destination;
    let mut errors = Vec::new();
    if destination.s3.is_some() == destination.volume.is_some() {
        let why = "exactly one of s3 and volume is needed";
        errors.push(FieldError::required("spec.destination", why));
    }
    let Some(s3) = &destination.s3 else {
        return errors;
    };
    let path = "spec.destination.s3.endpoint";
    if let Some(error) = no_user_info(path, &s3.endpoint) {
        errors.push(error);
        return errors;
    }
    let uri = s3.endpoint.parse::<http::Uri>().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    if host.is_empty() {
        let why = "must be the URL of the service, such as https://s3.example.com";
        errors.push(FieldError::invalid(path, &s3.endpoint, why));
    } else if host.parse::<std::net::IpAddr>().is_ok() {
        errors.extend(node_address(snapshot, path, host));
    }
    if !s3.endpoint.starts_with("https://") && spec.encryption.is_none() {
        let why = "without https needs encryption: a snapshot holds every Secret of the cluster";
        errors.push(FieldError::invalid(path, &s3.endpoint, why));
    }
    errors
}

/// The Secret is there and the caller's to use: no confused deputy.
pub(super) fn credentials(snapshot: &Snapshot) -> Vec<FieldError> {
    let path = "spec.destination.s3.credentialsSecretRef.name";
    let name = snapshot.facts.spec().and_then(secret);
    let keys = format!("the keys {}", S3_KEYS.join(" and "));
    used_secret(snapshot, path, name, &keys)
}

/// The Secret that the destination needs.
pub(super) fn secret(spec: &TalosEtcdBackupSpec) -> Option<String> {
    named(
        spec.destination
            .s3
            .as_ref()
            .map(|s3| &s3.credentials_secret_ref),
    )
}

pub(super) fn unencrypted(snapshot: &Snapshot) -> Option<String> {
    let spec = snapshot.facts.spec()?;
    spec.encryption.is_none().then(|| {
        "spec.encryption is absent: a snapshot holds every Secret of the cluster, readable for whoever reads the destination".to_owned()
    })
}

/// As a retry (DESIGN section 18, decision 17): a file asks again and again.
pub(super) fn backup_now(snapshot: &Snapshot) -> Option<String> {
    snapshot.facts.applied_annotations.contains(BACKUP_NOW).then(|| {
        format!("{BACKUP_NOW} is in a file: a snapshot is taken every time it is applied. Take it out and ask once: kubectl annotate talosetcdbackup NAME -n {} {BACKUP_NOW}=true", snapshot.facts.namespace)
    })
}
