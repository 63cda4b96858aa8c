//! TLS towards nodes: 1.3 only, ALPN `h2`, and the two ways to judge a node's certificate.

use crate::credential::Credential;
use crate::dialer::Clock;
use ichor_certs::pinned::Fingerprint;
use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The leaf a node showed, kept also when it was not accepted.
pub(crate) type SeenLeaf = Arc<OnceLock<CertificateDer<'static>>>;

/// For a configured node: its certificate must come from the credential's CA.
pub(crate) fn configured(
    credential: &Credential,
    clock: &Clock,
    seen: &SeenLeaf,
) -> Result<ClientConfig, Error> {
    let provider = Arc::new(default_provider());
    let judge = webpki(Arc::clone(&credential.roots), &provider)?;
    let verifier = NodeVerifier {
        judge: Judge::Authority(judge),
        provider: Arc::clone(&provider),
        seen: Arc::clone(seen),
    };
    let resolver = SingleCertAndKey::from(CertifiedKey::clone(&credential.client));
    let mut config =
        ClientConfig::builder_with_details(provider, Arc::new(WallClock(clock.clone())))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::new(resolver));
    settle(&mut config);
    Ok(config)
}

/// For a machine in maintenance mode: any certificate, or only the pinned one.
pub(crate) fn maintenance(
    pin: Option<Fingerprint>,
    clock: &Clock,
    seen: &SeenLeaf,
) -> Result<ClientConfig, Error> {
    let provider = Arc::new(default_provider());
    let verifier = NodeVerifier {
        judge: Judge::Pin(pin),
        provider: Arc::clone(&provider),
        seen: Arc::clone(seen),
    };
    let mut config =
        ClientConfig::builder_with_details(provider, Arc::new(WallClock(clock.clone())))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
    settle(&mut config);
    Ok(config)
}

fn settle(config: &mut ClientConfig) {
    config.alpn_protocols = vec![b"h2".to_vec()];
    // Talos has session tickets off; a resumed session would skip the certificate that is to be judged.
    config.resumption = rustls::client::Resumption::disabled();
    // Talos ignores the name, and an address is none (`talos-api.md` section 1).
    config.enable_sni = false;
}

fn webpki(
    roots: Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|fault| Error::General(fault.to_string()))
}

/// Whether `leaf` comes from one of `roots` and is for `address`, at `now`.
pub(crate) fn verifies(
    leaf: &CertificateDer<'_>,
    roots: RootCertStore,
    address: IpAddr,
    now: Timestamp,
) -> bool {
    webpki(Arc::new(roots), &Arc::new(default_provider())).is_ok_and(|judge| {
        judge
            .verify_server_cert(leaf, &[], &server_name(address), &[], unix(now))
            .is_ok()
    })
}

/// The name a node's certificate must have: the address that was dialled.
pub(crate) fn server_name(address: IpAddr) -> ServerName<'static> {
    ServerName::IpAddress(address.to_canonical().into())
}

/// From when to when a certificate holds.
pub(crate) fn validity(leaf: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate) = x509_parser::parse_x509_certificate(leaf).ok()?;
    let validity = certificate.validity();
    Some((
        Timestamp::from_second(validity.not_before.timestamp()).ok()?,
        Timestamp::from_second(validity.not_after.timestamp()).ok()?,
    ))
}

/// Whether this is the leaf of a machine in maintenance mode (`talos-api.md` section 1).
pub(crate) fn is_maintenance(leaf: &[u8]) -> bool {
    x509_parser::parse_x509_certificate(leaf).is_ok_and(|(_, certificate)| {
        certificate
            .subject()
            .iter_common_name()
            .any(|name| name.as_str() == Ok("maintenance-service.talos.dev"))
    })
}

fn unix(time: Timestamp) -> UnixTime {
    let seconds = u64::try_from(time.as_second()).unwrap_or_default();
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

struct WallClock(Clock);

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(unix((self.0)()))
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

#[derive(Debug)]
enum Judge {
    Authority(Arc<WebPkiServerVerifier>),
    Pin(Option<Fingerprint>),
}

/// Judges a node's leaf and remembers it; the handshake's signature is checked in either case, so whoever
/// answers holds the leaf's key.
#[derive(Debug)]
struct NodeVerifier {
    judge: Judge,
    provider: Arc<CryptoProvider>,
    seen: SeenLeaf,
}

impl ServerCertVerifier for NodeVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.seen.get_or_init(|| end_entity.clone().into_owned());
        match &self.judge {
            Judge::Authority(judge) => {
                judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            Judge::Pin(None) => Ok(ServerCertVerified::assertion()),
            Judge::Pin(Some(pin)) => {
                if Fingerprint::of_certificate(end_entity) == Some(*pin) {
                    Ok(ServerCertVerified::assertion())
                } else {
                    Err(CertificateError::ApplicationVerificationFailure.into())
                }
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // Never asked: only TLS 1.3 is offered.
        Err(Error::General("TLS 1.2 is not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
