//! TalosEtcdBackup: snapshots of etcd by schedule (DESIGN section 12).

use crate::LocalReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Snapshots of a cluster's etcd, taken by schedule and kept elsewhere.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosEtcdBackup",
    namespaced,
    status = "TalosEtcdBackupStatus",
    shortname = "teb",
    category = "ichor",
    derive = "PartialEq",
    doc = "Snapshots of a cluster's etcd, taken by schedule, verified and kept in an S3 bucket or on a volume. The annotation ichor.maesh.dev/backup-now=true takes one at once.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Suspend", type_ = "boolean", json_path = ".spec.suspend"),
    printcolumn(
        name = "Last Success",
        type_ = "date",
        json_path = ".status.lastSuccessfulTime"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = crate::rules::fixed_cluster("TalosEtcdBackup"),
    validation = Rule::new("!has(self.destination.s3) || has(self.encryption) || self.destination.s3.endpoint.startsWith('https://')")
        .message("an endpoint without https needs encryption: a snapshot holds every Secret of the cluster"),
)]
pub struct TalosEtcdBackupSpec {
    /// Cluster whose etcd is saved. Never changes.
    pub cluster_ref: LocalReference,
    /// When snapshots are taken, in the five fields of cron: minute, hour, day of month, month, day of week, such as "0 3 * * *".
    #[schemars(length(max = 128))]
    #[x_kube(validation = crate::rules::cron())]
    pub schedule: String,
    /// Time zone of the schedule, such as Europe/Berlin (default Etc/UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'").message("must be a time zone such as Europe/Berlin or Etc/UTC"))]
    pub time_zone: Option<String>,
    /// Take no snapshots by schedule for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How many snapshots are kept and for how long; absent to keep all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<BackupRetention>,
    /// Where snapshots are kept: an S3 bucket or a volume.
    pub destination: BackupDestination,
    /// Encrypt snapshots before they leave Ichor. A snapshot holds every Secret of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<BackupEncryption>,
}

/// How many snapshots are kept and for how long. One that both allow to go is deleted; the newest never is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.count) || has(self.maxAge)").message("retention needs count, maxAge or both; leave it out to keep every snapshot"))]
pub struct BackupRetention {
    /// Snapshots that are kept in any case, the newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub count: Option<i32>,
    /// Age up to which snapshots are kept in any case, such as 720h for thirty days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = crate::rules::duration("1h", "87600h", "720h"))]
    pub max_age: Option<String>,
}

/// Where snapshots are kept: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.s3) != has(self.volume)").message("exactly one of s3 and volume is needed"))]
pub struct BackupDestination {
    /// A bucket of an S3 service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Destination>,
    /// A volume in Ichor's own cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeDestination>,
}

/// A bucket of an S3 service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = crate::rules::pem("caBundle", "CERTIFICATE", "certificates"))]
pub struct S3Destination {
    /// URL of the service, such as https://s3.eu-central-1.example.com.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("isURL(self) && url(self).getScheme() in ['https', 'http'] && url(self).getEscapedPath() in ['', '/']").message("must be the URL of the service without a path, such as https://s3.example.com"))]
    pub endpoint: String,
    /// Name of the bucket.
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9][a-z0-9.-]+[a-z0-9]$')").message("must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and dashes"))]
    pub bucket: String,
    /// Prefix of the names of snapshots in the bucket, such as prod/; absent for the name of the TalosEtcdBackup and a slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9_.=-]+(/[A-Za-z0-9_.=-]+)*/?$') && !self.matches('(^|/)[.][.]?(/|$)')").message("must be a relative path of letters, digits, dots, dashes and underscores, such as clusters/prod"))]
    pub prefix: Option<String>,
    /// Region that requests are signed for (default us-east-1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub region: Option<String>,
    /// Put the bucket into the path of URLs instead of the host name, as many services other than Amazon's need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_style: Option<bool>,
    /// Secret of this namespace with the keys "accessKeyID" and "secretAccessKey".
    pub credentials_secret_ref: LocalReference,
    /// Certificates, in PEM, that the service's certificate is verified with; absent for the public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub ca_bundle: Option<String>,
}

/// A volume in Ichor's own cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeDestination {
    /// PersistentVolumeClaim of this namespace.
    #[schemars(length(min = 1, max = 253))]
    pub claim_name: String,
    /// Folder on the volume, such as prod; absent for the name of the TalosEtcdBackup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9_.=-]+(/[A-Za-z0-9_.=-]+)*/?$') && !self.matches('(^|/)[.][.]?(/|$)')").message("must be a relative path of letters, digits, dots, dashes and underscores, such as clusters/prod"))]
    pub path: Option<String>,
}

/// How snapshots are encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupEncryption {
    /// Public keys of age, such as age1...; whoever holds the identity of one of them can open a snapshot. Ichor holds none.
    #[schemars(length(min = 1, max = 16), inner(length(max = 4096)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = Rule::new("self.all(key, key.matches('^age1[0-9a-z]+$'))").message("must be public keys of age, such as age1...; an identity (AGE-SECRET-KEY-...) stays with its owner"))]
    pub recipients: Vec<String>,
}

/// What Ichor knows of a cluster's snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosEtcdBackupStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Time of the schedule that was last acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// When the newest snapshot was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_successful_time: Option<Time>,
    /// When the schedule is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_schedule_time: Option<Time>,
    /// The snapshot that is being taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveSnapshot>,
    /// Snapshots at the destination, the newest first. etcdRestore of a TalosOperation names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 512))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub snapshots: Vec<Snapshot>,
    /// Conditions: "Ready", and "Stale" when the newest snapshot is older than twice the time between two of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// A snapshot that is being taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveSnapshot {
    /// Name it will have.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// When it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// TalosMachine it is read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub machine: Option<String>,
    /// Schedule or Request.
    #[serde(default)]
    pub cause: SnapshotCause,
}

/// Why a snapshot is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotCause {
    /// The schedule was due.
    #[default]
    Schedule,
    /// A person asked for it.
    Request,
}

/// A snapshot that was verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Name of the snapshot.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// When it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Time>,
    /// TalosMachine it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub machine: Option<String>,
    /// Size in bytes, before encryption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub size: Option<i64>,
    /// SHA-256 that etcd put at the end of the snapshot, as lower-case hex; it was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub hash: Option<String>,
    /// Revision of etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,
    /// Whether it is encrypted with age.
    #[serde(default)]
    pub encrypted: bool,
    /// ID of the cluster in its secrets bundle.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub cluster_id: Option<String>,
    /// SHA-256, as lower-case hex, of the key in the secrets bundle that Kubernetes encrypted its Secrets with. A restore needs a bundle with the same key: with another one no Secret could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub encryption_key_hash: Option<String>,
    /// Talos version of the machine it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub talos_version: Option<String>,
    /// Kubernetes version of the cluster at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub kubernetes_version: Option<String>,
}
