//! The client of a managed cluster's API server. An operator may write the endpoint, so no name in it leads to this machine or
//! its link: what it resolves to is looked at where the connection is made, not before.

use hyper_util::client::legacy::Client as HttpsClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use ichor_crds::NodeAddress;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::{Service, ServiceBuilder};

/// The host is this machine, its link, or no single machine.
#[derive(Debug, thiserror::Error)]
#[error("the host is not another machine")]
pub struct NotAnotherMachine;

/// A client that dials no local address unless that is allowed.
pub fn client(config: &Config, allow_local: bool) -> Result<Client, kube::Error> {
    let mut http = HttpConnector::new_with_resolver(Elsewhere { allow_local });
    http.enforce_http(false);
    http.set_connect_timeout(config.connect_timeout);
    let https = config.rustls_https_connector_with_connector(http)?;
    let https: HttpsClient<_, Body> = HttpsClient::builder(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .service(https);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Whether a host that is an address may be dialled; names are judged when they are resolved.
pub fn may_dial(host: &str, allow_local: bool) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    allow_local || bare.parse::<IpAddr>().map_or(true, is_another_machine)
}

/// Whether a failed call failed because of [`NotAnotherMachine`].
pub fn is_local(error: &kube::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>();
        if let Some(inner) = inner.and_then(io::Error::get_ref)
            && inner.is::<NotAnotherMachine>()
        {
            return true;
        }
        cause = error.source();
    }
    false
}

fn is_another_machine(ip: IpAddr) -> bool {
    // Its text form is refused where no single machine answers: 0.0.0.0 is this one, too.
    let address = ip.to_string().parse::<NodeAddress>();
    address.is_ok_and(|address| !address.is_local())
}

/// Resolves names as the system does, and leaves out what is local.
#[derive(Clone, Debug)]
struct Elsewhere {
    allow_local: bool,
}

impl Service<Name> for Elsewhere {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let allow_local = self.allow_local;
        Box::pin(async move {
            let all = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let elsewhere: Vec<_> = all
                .filter(|address| allow_local || is_another_machine(address.ip()))
                .collect();
            if elsewhere.is_empty() {
                return Err(io::Error::other(NotAnotherMachine));
            }
            Ok(elsewhere.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_not_dialled() {
        for (host, may) in [
            ("10.5.0.2", true),
            ("[fc00:22::2]", true),
            ("api.example.com", true),
            ("127.0.0.1", false),
            ("[::1]", false),
            ("[::ffff:127.0.0.1]", false),
            ("169.254.169.254", false),
            ("[fe80::1]", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
        ] {
            assert_eq!(may_dial(host, false), may, "{host}");
            assert!(may_dial(host, true), "{host}");
        }
    }

    #[tokio::test]
    async fn names_of_this_machine_are_not_dialled() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        for allow_local in [false, true] {
            let url = "https://localhost:1".parse().expect("a URL");
            let client = client(&Config::new(url), allow_local).expect("a client");
            let error = client.apiserver_version().await;
            let error = error.expect_err("nobody is there");
            assert_eq!(is_local(&error), !allow_local, "{error:?}");
        }
    }

    /// What only a resolver takes for an address is judged by what it resolves to.
    #[tokio::test]
    async fn odd_texts_of_local_addresses_resolve_to_nothing() {
        for host in ["localhost", "127.1", "0x7f000001", "2130706433"] {
            for allow_local in [false, true] {
                let name: Name = host.parse().expect("a name");
                let found = Elsewhere { allow_local }.call(name).await;
                assert_eq!(found.is_ok(), allow_local, "{host}");
            }
        }
    }
}
