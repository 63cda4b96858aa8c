//! What every request shares.

use crate::body::Budget;
use crate::{AccessReviewer, Metrics, References};
use std::sync::Arc;
use std::time::Duration;

/// What the host decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace whose objects Ichor reads and writes.
    pub namespace: String,
    /// Whether loopback and link-local addresses may be dialled (`--allow-local-addresses`, DESIGN section 5).
    pub allow_local_addresses: bool,
    /// How long access reviews and lookups of one request may take together. Well inside the 5 s that
    /// the API server gives a webhook, so that the denial says what was slow.
    pub lookup_deadline: Duration,
    /// How long a request may take as a whole, its body included.
    pub request_timeout: Duration,
}

impl Settings {
    /// The defaults, for objects in `namespace`: 3 s for lookups, 4.5 s for a request.
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            allow_local_addresses: false,
            lookup_deadline: Duration::from_secs(3),
            request_timeout: Duration::from_millis(4_500),
        }
    }
}

/// The state of the router: settings, the two ports, metrics. Cheap to clone.
#[derive(Clone)]
pub struct WebhookState(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) reviewer: Arc<dyn AccessReviewer>,
    pub(crate) references: Arc<dyn References>,
    pub(crate) metrics: Metrics,
    pub(crate) budget: Budget,
}

impl WebhookState {
    /// A state that asks `reviewer` who may do what and reads other objects through `references`.
    /// [`crate::LiveCluster`] is both.
    pub fn new(
        settings: Settings,
        reviewer: Arc<dyn AccessReviewer>,
        references: Arc<dyn References>,
        metrics: Metrics,
    ) -> Self {
        Self(Arc::new(Inner {
            settings,
            reviewer,
            references,
            metrics,
            budget: Budget::default(),
        }))
    }
}

impl std::fmt::Debug for WebhookState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookState")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}
