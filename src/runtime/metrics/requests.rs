//! Requests to the API server that Ichor's objects are in, by the name of client-go. Those of managed clusters are not
//! counted: they are many, and each would be a label.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::task::{Context, Poll};
use tower::{Layer, Service};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    method: String,
    host: String,
}

/// Counts the requests of a client, as a layer of it.
#[derive(Clone, Debug, Default)]
pub struct CountRequests(Family<RequestLabels, Counter>);

impl CountRequests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "rest_client_requests",
            "Requests to the API server by status code, method and host; the code is <error> where none came",
            metrics.0.clone(),
        );
        metrics
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            requests: self.0.clone(),
        }
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    requests: Family<RequestLabels, Counter>,
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let method = request.method().as_str().to_owned();
        let host = request.uri().authority().map(ToString::to_string);
        let requests = self.requests.clone();
        let answered = self.inner.call(request).inspect(move |answer| {
            let code = answer.as_ref().map_or_else(
                |_| "<error>".to_owned(),
                |answer| answer.status().as_u16().to_string(),
            );
            let labels = RequestLabels {
                code,
                method,
                host: host.unwrap_or_default(),
            };
            requests.get_or_create(&labels).inc();
        });
        answered.boxed()
    }
}
