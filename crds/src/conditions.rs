//! Condition types and reasons of every kind, as constants in one place (STYLE rule 6).

/// Steady state: the object is as it should be. `kubectl wait --for=condition=Ready` works on it.
pub const READY: &str = "Ready";
/// A MachineReclaim has ended, well or not; its reason says how.
pub const COMPLETE: &str = "Complete";
/// A MachineReclaim waits for something; its reason says what.
pub const WAITING: &str = "Waiting";
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
