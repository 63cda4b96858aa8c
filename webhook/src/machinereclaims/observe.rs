//! Finds out what the rules need, all at once and within one deadline.

use super::snapshot::{Facts, Findings, Questions};
use crate::ports::{Access, AccessQuestion, LookupError};
use crate::state::WebhookState;
use ichor_crds::GROUP;
use k8s_openapi::api::authentication::v1::UserInfo;
use tokio::time::{Instant, timeout_at};

/// Asks what `facts` make necessary, for the caller `user`.
pub(crate) async fn observe(state: &WebhookState, facts: &Facts, user: &UserInfo) -> Findings {
    let Questions {
        reclaim,
        cluster,
        secret,
        others,
    } = facts.questions();
    let until = Instant::now() + state.0.settings.lookup_deadline;
    let namespace = facts.namespace.as_str();
    let ask = |verb, group, resource, name| {
        let question = AccessQuestion {
            user,
            verb,
            group,
            resource,
            namespace,
            name,
        };
        within(until, state.0.reviewer.review(question))
    };
    let reclaim = async {
        if reclaim {
            Some(ask("reclaim", GROUP, super::RESOURCE, &facts.name).await)
        } else {
            None
        }
    };
    let cluster = async {
        let name = cluster.as_deref()?;
        Some(within(until, state.0.references.cluster(namespace, name)).await)
    };
    let secret = async {
        let Some(name) = secret.as_deref() else {
            return (None, None);
        };
        let access = ask("get", "", "secrets", name).await;
        if access != Ok(Access::Allowed) {
            return (Some(access), None);
        }
        let kind = within(until, state.0.references.secret_type(namespace, name)).await;
        (Some(access), Some(kind))
    };
    let others = async {
        if others {
            Some(within(until, state.0.references.unfinished_reclaims(namespace)).await)
        } else {
            None
        }
    };
    let (reclaim, cluster, (secret_access, secret_type), others) =
        tokio::join!(reclaim, cluster, secret, others);
    Findings {
        reclaim,
        cluster,
        secret_access,
        secret_type,
        others,
    }
}

async fn within<T>(
    until: Instant,
    lookup: impl Future<Output = Result<T, LookupError>>,
) -> Result<T, LookupError> {
    timeout_at(until, lookup)
        .await
        .unwrap_or(Err(LookupError::Deadline))
}
