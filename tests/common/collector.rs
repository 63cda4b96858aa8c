//! An OpenTelemetry collector on loopback that keeps the spans it is sent.

use anyhow::Result;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tonic::{Request, Response, Status};

/// A running collector; it ends with the test's runtime.
#[derive(Clone, Debug)]
pub struct Collector {
    url: String,
    received: Received,
}

type Received = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

impl Collector {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let received = Received::default();
        let service = TraceServiceServer::new(Keeper(Arc::clone(&received)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(service.clone());
                let server = Builder::new(TokioExecutor::new());
                tokio::spawn(async move {
                    // Ends when the client goes.
                    server
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                        .ok();
                });
            }
        });
        Ok(Self { url, received })
    }

    /// What `--otlp-endpoint` has to be.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All spans so far.
    pub fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let resources = received.iter().flat_map(|one| &one.resource_spans);
        let scopes = resources.flat_map(|one| &one.scope_spans);
        scopes.flat_map(|one| one.spans.clone()).collect()
    }

    /// Everything that was sent, as text to look for something in.
    #[allow(
        dead_code,
        reason = "each test binary uses what it needs of this module"
    )]
    pub fn text(&self) -> String {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        format!("{received:?}")
    }
}

#[derive(Debug)]
struct Keeper(Received);

#[tonic::async_trait]
impl TraceService for Keeper {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}
