//! The ports against the API server itself: every answer is a live read.

use crate::ports::{
    Access, AccessQuestion, AccessReviewer, BundleLookup, LookupError, References, Selector,
};
use async_trait::async_trait;
use ichor_certs::SecretsBundle;
use ichor_crds::{BUNDLE_KEY, GROUP, VERSION};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{Api, GetParams, ListParams, PostParams, Request};
use kube::{Client, Error};
use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// Objects per page of a list.
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

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default)]
    items: Vec<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue", default)]
    next: String,
}

#[async_trait]
impl References for LiveCluster {
    async fn list(
        &self,
        namespace: &str,
        resource: &str,
        selector: &Selector,
        most: Option<u32>,
    ) -> Result<Vec<Box<RawValue>>, LookupError> {
        let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{resource}");
        let mut page = ListParams::default().limit(most.unwrap_or(PAGE));
        if let Selector::Field(field, value) = selector {
            page = page.fields(&format!("{field}={}", escaped(value)));
        }
        let mut all = Vec::new();
        loop {
            let request = Request::new(&path)
                .list(&page)
                .map_err(|_| LookupError::Unreachable)?;
            let answer = self.client.request::<Page>(request).await;
            let Page { metadata, items } = answer.map_err(|e| failure(resource, &e))?;
            all.extend(items);
            if metadata.next.is_empty() || most.is_some() {
                return Ok(all);
            }
            page.continue_token = Some(metadata.next);
        }
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

    async fn bundle(&self, namespace: &str, name: &str) -> Result<BundleLookup, LookupError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await.map_err(|e| failure("secret", &e))?;
        let Some(secret) = found else {
            return Ok(BundleLookup::NoSecret);
        };
        // Every value is zeroed with this: none of them outlives the answer.
        let data = secret.data.unwrap_or_default().into_iter();
        let mut data = data.map(|(key, value)| (key, Zeroizing::new(value.0)));
        let Some((_, text)) = data.find(|(key, _)| key == BUNDLE_KEY) else {
            return Ok(BundleLookup::NoKey);
        };
        // Whether its CA is valid now is the controller's to say, again and again.
        Ok(match SecretsBundle::parse(&text) {
            Ok(bundle) => BundleLookup::Sound {
                cluster_id: bundle.cluster_id().to_owned(),
            },
            Err(defect) => BundleLookup::Defect(defect),
        })
    }

    async fn node_system_uuid(&self, name: &str) -> Result<Option<String>, LookupError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let found = api.get_opt(name).await.map_err(|e| failure("node", &e))?;
        let info = found.and_then(|node| node.status?.node_info);
        Ok(info.map(|info| info.system_uuid))
    }

    async fn is_terminating(&self, namespace: &str) -> Result<bool, LookupError> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let found = api.get_metadata_opt(namespace).await;
        let found = found.map_err(|e| failure("namespace", &e))?;
        // Gone altogether: nothing is left to be kept.
        Ok(found.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some()))
    }
}

/// A value as field selectors take it: their own signs are escaped.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for sign in value.chars() {
        if matches!(sign, '\\' | ',' | '=') {
            text.push('\\');
        }
        text.push(sign);
    }
    text
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

    /// An API server that gives one answer to everything: what a real one does only when it is broken.
    fn broken(code: StatusCode, body: Value) -> LiveCluster {
        let service = tower::service_fn(move |_: HttpRequest<Body>| {
            let body = Body::from(body.to_string().into_bytes());
            let answer = Response::builder().status(code).body(body);
            async move { Ok::<_, Infallible>(answer.expect("an answer")) }
        });
        LiveCluster::new(Client::new(service, "default"))
    }

    /// Every lookup of `cluster`.
    async fn errors(cluster: &LiveCluster) -> Vec<Option<LookupError>> {
        let user = k8s_openapi::api::authentication::v1::UserInfo::default();
        let question = AccessQuestion {
            user: &user,
            verb: "get",
            group: "",
            resource: "secrets",
            namespace: "n",
            name: "pasted",
        };
        vec![
            cluster.review(question).await.err(),
            cluster
                .list("n", "talosclusters", &Selector::All, None)
                .await
                .err(),
            cluster.secret_type("n", "pasted").await.err(),
            cluster.bundle("n", "bundle").await.err(),
            cluster.node_system_uuid("worker-7").await.err(),
            cluster.is_terminating("n").await.err(),
        ]
    }

    #[tokio::test]
    async fn a_failure_is_told_by_its_reason_alone() {
        let body = json!({"kind": "Status", "status": "Failure", "code": 500,
            "reason": "InternalError", "message": "with words that are for the log"});
        let cluster = broken(StatusCode::INTERNAL_SERVER_ERROR, body);
        for error in errors(&cluster).await {
            let refused = LookupError::Refused("InternalError (500)".to_owned());
            assert_eq!(error, Some(refused));
        }
    }

    #[tokio::test]
    async fn an_answer_that_makes_no_sense_allows_nothing() {
        for error in errors(&broken(StatusCode::OK, json!("?"))).await {
            assert_eq!(error, Some(LookupError::Unreachable));
        }
    }

    #[test]
    fn a_value_cannot_add_to_its_selector() {
        for (value, want) in [
            ("worker-7", "worker-7"),
            ("a,metadata.name!=b", "a\\,metadata.name!\\=b"),
            ("a\\", "a\\\\"),
        ] {
            assert_eq!(escaped(value), want);
        }
    }
}
