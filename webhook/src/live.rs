//! The ports against the API server itself: every answer is a live read.

use crate::machinereclaims::StoredReclaim;
use crate::ports::{
    Access, AccessQuestion, AccessReviewer, ClusterLookup, LookupError, OtherReclaim, References,
};
use async_trait::async_trait;
use ichor_crds::{GROUP, TalosCluster, VERSION};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, GetParams, ListParams, PostParams, Request};
use kube::{Client, Error};
use serde::Deserialize;

/// Names of existing clusters that are read for the text of a refusal.
const EXISTING: u32 = 10;
/// Reclaims per page of a list.
const PAGE: u32 = 500;

/// The API server that Ichor runs in.
#[derive(Clone)]
pub struct LiveCluster {
    client: Client,
}

impl LiveCluster {
    /// Asks through `client`, with the rights of the controller's account.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl std::fmt::Debug for LiveCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCluster").finish_non_exhaustive()
    }
}

#[async_trait]
impl AccessReviewer for LiveCluster {
    async fn review(&self, question: AccessQuestion<'_>) -> Result<Access, LookupError> {
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let asked = api
            .create(&PostParams::default(), &access_review(question))
            .await;
        let status = asked
            .map_err(|e| failure("subjectaccessreview", &e))?
            .status;
        let status = status.ok_or(LookupError::Unreachable)?;
        if let Some(error) = status.evaluation_error {
            // The decision stands all the same: a role that is gone elsewhere is no reason to allow.
            tracing::info!(%error, "the access review reports an evaluation error");
        }
        Ok(if status.allowed {
            Access::Allowed
        } else {
            Access::Denied
        })
    }
}

/// The review of all that the API server knows of the caller (FAULTS 7).
fn access_review(question: AccessQuestion<'_>) -> SubjectAccessReview {
    let user = question.user;
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(question.verb.to_owned()),
                group: Some(question.group.to_owned()),
                resource: Some(question.resource.to_owned()),
                namespace: Some(question.namespace.to_owned()),
                name: Some(question.name.to_owned()).filter(|name| !name.is_empty()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

/// The part of a Secret that is looked at; its data is not even decoded.
#[derive(Deserialize)]
struct TypeOfSecret {
    #[serde(rename = "type", default)]
    kind: String,
}

/// A page of MachineReclaims; each is decoded leniently, so that one that is broken hides no other.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default)]
    items: Vec<Box<serde_json::value::RawValue>>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue", default)]
    next: String,
}

#[async_trait]
impl References for LiveCluster {
    async fn cluster(&self, namespace: &str, name: &str) -> Result<ClusterLookup, LookupError> {
        let api: Api<TalosCluster> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_metadata_opt(name).await;
        if found.map_err(|e| failure("taloscluster", &e))?.is_some() {
            return Ok(ClusterLookup::Found);
        }
        let list = api
            .list_metadata(&ListParams::default().limit(EXISTING))
            .await;
        let list = list.map_err(|e| failure("talosclusters", &e))?;
        let existing = list
            .items
            .into_iter()
            .filter_map(|c| c.metadata.name)
            .collect();
        Ok(ClusterLookup::Missing { existing })
    }

    async fn secret_type(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<String>, LookupError> {
        let request = Request::new(format!("/api/v1/namespaces/{namespace}/secrets"))
            .get(name, &GetParams::default())
            .map_err(|_| LookupError::Unreachable)?;
        match self.client.request::<TypeOfSecret>(request).await {
            Ok(secret) => Ok(Some(secret.kind)),
            Err(Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failure("secret", &error)),
        }
    }

    async fn unfinished_reclaims(&self, namespace: &str) -> Result<Vec<OtherReclaim>, LookupError> {
        let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/machinereclaims");
        let mut page = ListParams::default().limit(PAGE);
        let mut unfinished = Vec::new();
        loop {
            let request = Request::new(&path)
                .list(&page)
                .map_err(|_| LookupError::Unreachable)?;
            let answer: Page = self
                .client
                .request(request)
                .await
                .map_err(|e| failure("machinereclaims", &e))?;
            unfinished.extend(answer.items.iter().filter_map(|item| {
                StoredReclaim::decode(item)
                    .ok()
                    .and_then(|stored| stored.unfinished())
            }));
            if answer.metadata.next.is_empty() {
                return Ok(unfinished);
            }
            page.continue_token = Some(answer.metadata.next);
        }
    }
}

/// What the caller may know of a failed call; the rest is for the log.
fn failure(of: &str, error: &Error) -> LookupError {
    tracing::warn!(%error, of, "a lookup for admission failed");
    match error {
        Error::Api(status) => LookupError::Refused(format!("{} ({})", status.reason, status.code)),
        _ => LookupError::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request as HttpRequest, Response, StatusCode};
    use kube::client::Body;
    use serde_json::{Value, json};
    use std::convert::Infallible;

    /// A cluster whose answer to a path with query is `answer`'s.
    fn cluster(answer: fn(&str) -> (StatusCode, Value)) -> LiveCluster {
        let service = tower::service_fn(move |request: HttpRequest<Body>| async move {
            let path = request
                .uri()
                .path_and_query()
                .map_or("", |path| path.as_str());
            let (code, body) = answer(path);
            let body = Body::from(body.to_string().into_bytes());
            Ok::<_, Infallible>(
                Response::builder()
                    .status(code)
                    .body(body)
                    .expect("an answer"),
            )
        });
        LiveCluster::new(Client::new(service, "default"))
    }

    fn error(code: StatusCode, reason: &str) -> (StatusCode, Value) {
        let body = json!({"kind": "Status", "status": "Failure", "code": code.as_u16(),
            "reason": reason, "message": "with words that are for the log"});
        (code, body)
    }

    /// FAULTS 32: not only the first page; and one that cannot be read hides no other.
    #[tokio::test]
    async fn every_page_of_reclaims_is_read() {
        let cluster = cluster(|path| {
            let item = |name: &str, address: Value| json!({"metadata": {"name": name}, "spec": {"address": address}});
            let page =
                |next: &str, items: Value| json!({"metadata": {"continue": next}, "items": items});
            let body = if path.contains("continue=second") {
                page("", json!([item("c", json!("10.5.0.9"))]))
            } else {
                page(
                    "second",
                    json!([item("a", json!("10.5.0.7")), item("b", json!(8))]),
                )
            };
            (StatusCode::OK, body)
        });
        let others = cluster
            .unfinished_reclaims("ichor-system")
            .await
            .expect("reclaims");
        let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
    }

    #[tokio::test]
    async fn a_failure_is_told_by_its_reason_alone() {
        let cluster = cluster(|_| error(StatusCode::FORBIDDEN, "Forbidden"));
        let refused = LookupError::Refused("Forbidden (403)".to_owned());
        assert_eq!(cluster.cluster("n", "prod").await, Err(refused.clone()));
        assert_eq!(
            cluster.secret_type("n", "pasted").await,
            Err(refused.clone())
        );
        assert_eq!(cluster.unfinished_reclaims("n").await, Err(refused.clone()));
        let user = k8s_openapi::api::authentication::v1::UserInfo::default();
        let question = AccessQuestion {
            user: &user,
            verb: "get",
            group: "",
            resource: "secrets",
            namespace: "n",
            name: "pasted",
        };
        assert_eq!(cluster.review(question).await, Err(refused));
    }

    #[tokio::test]
    async fn an_answer_that_makes_no_sense_allows_nothing() {
        let cluster = cluster(|_| (StatusCode::OK, json!("?")));
        assert_eq!(
            cluster.cluster("n", "prod").await,
            Err(LookupError::Unreachable)
        );
        assert_eq!(
            cluster.secret_type("n", "pasted").await,
            Err(LookupError::Unreachable)
        );
        assert_eq!(
            cluster.unfinished_reclaims("n").await,
            Err(LookupError::Unreachable)
        );
    }

    #[tokio::test]
    async fn a_missing_secret_is_no_failure() {
        let cluster = cluster(|_| error(StatusCode::NOT_FOUND, "NotFound"));
        assert_eq!(cluster.secret_type("n", "pasted").await, Ok(None));
    }
}
