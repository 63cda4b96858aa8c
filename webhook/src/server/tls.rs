//! The TLS configuration: TLS 1.3 only, HTTP/2 before HTTP/1.1 (DESIGN section 4).

use rustls::server::ResolvesServerCert;
use rustls::{RootCertStore, ServerConfig};
use std::sync::Arc;

use super::client_ca::ClientAuthorities;

/// The configuration for [`crate::serve`]. `certificates` is asked at every handshake, so it can serve a
/// renewed leaf at once. With `client_ca`, only clients whose certificate verifies with it are let in
/// (`--client-ca-file`: the CA of the API server's client certificate).
pub fn server_config(
    certificates: Arc<dyn ResolvesServerCert>,
    client_ca: Option<Arc<ClientAuthorities>>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(authorities) => builder.with_client_cert_verifier(authorities),
    };
    let mut config = builder.with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Why no TLS configuration can be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The cryptography provider lacks TLS 1.3.
    #[error("TLS cannot be set up: {0}")]
    Protocol(#[from] rustls::Error),
    /// The client CA is not usable.
    #[error("the client CA cannot be used: {0}")]
    ClientCa(#[from] rustls::server::VerifierBuilderError),
}

/// The certificates in `ders` as roots.
///
/// # Errors
/// When there is none, or one that is no CA.
pub(super) fn roots(ders: Vec<Vec<u8>>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for der in ders {
        roots.add(der.into())?;
    }
    Ok(roots)
}
