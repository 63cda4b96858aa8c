//! Condition types and reasons of every kind, as constants in one place (STYLE rule 6).

/// Steady state: the object is as it should be. `kubectl wait --for=condition=Ready` works on it.
pub const READY: &str = "Ready";
/// A MachineReclaim has ended, well or not, or a TalosOperation is done; its reason says how.
pub const COMPLETE: &str = "Complete";
/// A MachineReclaim or TalosOperation waits for something; its reason says what.
pub const WAITING: &str = "Waiting";
/// A TalosMachine is being removed from its cluster.
pub const REMOVAL: &str = "Removal";
/// A TalosOperation of kind shutdown holds the mark that refuses other disruptive work (record 0067).
pub const SHUTDOWN: &str = "Shutdown";
/// The newest snapshot of a TalosEtcdBackup is older than twice the time between two of them.
pub const STALE: &str = "Stale";
/// The typed UUID is not the machine's (DESIGN section 18, decision 15).
pub const UUID_MISMATCH: &str = "UUIDMismatch";
/// The reset was sent and the machine has not come back in time (DESIGN section 18, decision 3).
pub const OVERDUE: &str = "Overdue";

/// Reasons of the conditions of a MachineReclaim.
pub mod reclaim {
    /// The cluster that `clusterRef` names does not exist (any more).
    pub const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
    /// The secrets bundle cannot be read or is defective.
    pub const SECRETS_BUNDLE_UNAVAILABLE: &str = "SecretsBundleUnavailable";
    /// The Secret with the pasted talosconfig cannot be read or is defective.
    pub const CREDENTIAL_UNAVAILABLE: &str = "CredentialUnavailable";
    /// The node does not answer.
    pub const UNREACHABLE: &str = "Unreachable";
    /// The node answers and refuses the certificate, or shows one of another CA.
    pub const TALOS_CONNECT_FAILED: &str = "TalosConnectFailed";
    /// The node answers and is not ready for this.
    pub const NOT_READY: &str = "NotReady";
    /// Loopback and link-local addresses are not dialled unless allowed.
    pub const LOCAL_ADDRESS: &str = "LocalAddress";
    /// The Kubernetes API of the cluster cannot be reached as `kubernetesAccess` says.
    pub const KUBERNETES_UNAVAILABLE: &str = "KubernetesUnavailable";
    /// The machine has to be looked at.
    pub const INSPECTING: &str = "Inspecting";
    /// A person has to type the UUID.
    pub const AWAITING_CONFIRMATION: &str = "AwaitingConfirmation";
    /// The typed UUID is not the machine's.
    pub const UUID_MISMATCH: &str = "UUIDMismatch";
    /// Another disruptive step holds the cluster's lock.
    pub const CLUSTER_LOCK_HELD: &str = "ClusterLockHeld";
    /// Another reclaim or operation acts on this machine.
    pub const MACHINE_BUSY: &str = "MachineBusy";
    /// The assessment refuses the reclaim.
    pub const REFUSED: &str = "Refused";
    /// What was consented to is not what is there now.
    pub const CHANGED_AFTER_CONSENT: &str = "ChangedAfterConsent";
    /// The reset is recorded, and being sent or sent.
    pub const RESETTING: &str = "Resetting";
    /// The machine has to come back in maintenance mode.
    pub const AWAITING_MAINTENANCE: &str = "AwaitingMaintenance";
    /// Recorded, not observed (DESIGN section 18, decision 1).
    pub const RECORDED_NOT_OBSERVED: &str = "RecordedNotObserved";
    /// The machine accepted the reset and kept running (decision 3).
    pub const RESET_NOT_CARRIED_OUT: &str = "ResetNotCarriedOut";
    /// The machine did come back, with its old configuration (decision 3).
    pub const RETURNED_UNWIPED: &str = "ReturnedUnwiped";
    /// The machine has not come back within the time given.
    pub const OVERDUE: &str = "Overdue";
    /// The machine is wiped and in maintenance mode.
    pub const DONE: &str = "Done";
}

/// Reasons of the conditions of a TalosCluster.
pub mod cluster {
    /// The bundle is readable and sound.
    pub const READY: &str = "Ready";
    /// The secrets bundle cannot be read or is defective.
    pub const SECRETS_BUNDLE_UNAVAILABLE: &str = "SecretsBundleUnavailable";
}

/// Reasons of the conditions of a TalosMachine: first those that wait for time, then those that wait for a person
/// (record 0060), then those of success.
pub mod machine {
    /// The cluster that `clusterRef` names does not exist (yet).
    pub const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
    /// The secrets bundle cannot be read or is defective.
    pub const SECRETS_BUNDLE_UNAVAILABLE: &str = "SecretsBundleUnavailable";
    /// The configuration could not be rendered: a patch, the cluster or the contract.
    pub const RENDER_FAILED: &str = "RenderFailed";
    /// The node refuses the certificate, or shows one of another CA.
    pub const TALOS_CONNECT_FAILED: &str = "TalosConnectFailed";
    /// The node does not answer, or not yet.
    pub const CURRENT_CONFIG_UNAVAILABLE: &str = "CurrentConfigUnavailable";
    /// The node's configuration could not be read as one.
    pub const CONFIG_DIFF_FAILED: &str = "ConfigDiffFailed";
    /// The node refused to try the configuration out.
    pub const DRY_RUN_FAILED: &str = "DryRunFailed";
    /// The node refused the configuration.
    pub const APPLY_FAILED: &str = "ApplyFailed";
    /// Another control plane of the cluster is in transition.
    pub const CLUSTER_TRANSITIONING: &str = "ClusterTransitioning";
    /// Another disruptive step holds the cluster's lock.
    pub const CLUSTER_LOCK_HELD: &str = "ClusterLockHeld";
    /// A shutdown of the cluster is not completed (record 0067).
    pub const CLUSTER_SHUTTING_DOWN: &str = "ClusterShuttingDown";
    /// The cluster has its number of control planes.
    pub const CONTROL_PLANE_OVER_CAP: &str = "ControlPlaneOverCap";
    /// An operation or a reclaim acts on the machine (DESIGN section 18, decision 11).
    pub const OPERATION_IN_PROGRESS: &str = "OperationInProgress";

    /// The controller was started without what it dials Talos with.
    pub const TALOS_CLIENT_NOT_CONFIGURED: &str = "TalosClientNotConfigured";
    /// The machine runs a Talos version that Ichor does not know.
    pub const UNSUPPORTED_TALOS_VERSION: &str = "UnsupportedTalosVersion";
    /// The change takes effect only with a reset and a new installation.
    pub const INSTALL_TIME_ONLY_CHANGE: &str = "InstallTimeOnlyChange";
    /// The change takes effect only with a reboot, which a person has to ask for.
    pub const REBOOT_REQUIRED: &str = "RebootRequired";
    /// The configuration is not the rendered one, and `driftPolicy: warnOnly` leaves it so.
    pub const NODE_DRIFTED: &str = "NodeDrifted";
    /// A person has to let the machine in.
    pub const AWAITING_APPROVAL: &str = "AwaitingApproval";
    /// A person turned the machine away.
    pub const REJECTED: &str = "Rejected";
    /// Another board shows the same UUID.
    pub const CONFLICT: &str = "Conflict";
    /// Another machine answers at the machine's address.
    pub const IDENTITY_MISMATCH: &str = "IdentityMismatch";
    /// The maintenance certificate is not the one the approver saw.
    pub const MAINTENANCE_CERTIFICATE_CHANGED: &str = "MaintenanceCertificateChanged";

    /// The machine runs the rendered configuration.
    pub const CONVERGED: &str = "Converged";
    /// A changed configuration was applied.
    pub const APPLIED: &str = "Applied";
    /// The rendered configuration was applied again.
    pub const DRIFT_CORRECTED: &str = "DriftCorrected";
}
