//! The two faces of the API: maintenance (throw-away certificate, no client certificate asked) and configured
//! (the cluster's CA, the client certificate checks of talos-api.md section 1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{ExtendedKeyUsage, FromDer, X509Certificate};

use crate::pki::{Authority, Leaf, LeafOptions, Usage, signing_key};

/// What a server leaf names.
pub struct Names {
    /// Hostname, DNS name and (when configured) common name.
    pub hostname: String,
    /// Address of the node.
    pub address: IpAddr,
    /// `machine.certSANs`.
    pub extra: Vec<String>,
}

/// The maintenance leaf: common name `maintenance-service.talos.dev`, a day from now.
pub fn maintenance_leaf(authority: &Authority, names: &Names, now: OffsetDateTime) -> Result<Leaf> {
    let loopback = [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    leaf(
        authority,
        "maintenance-service.talos.dev",
        names,
        &loopback,
        now,
    )
}

/// The leaf of a configured node: common name is the hostname, a day from now.
pub fn configured_leaf(authority: &Authority, names: &Names, now: OffsetDateTime) -> Result<Leaf> {
    leaf(
        authority,
        &names.hostname,
        names,
        &[IpAddr::V4(Ipv4Addr::LOCALHOST)],
        now,
    )
}

fn leaf(
    authority: &Authority,
    common_name: &str,
    names: &Names,
    loopback: &[IpAddr],
    now: OffsetDateTime,
) -> Result<Leaf> {
    let mut addresses = vec![names.address];
    let mut dns_names = vec![names.hostname.clone()];
    for extra in &names.extra {
        match extra.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => dns_names.push(extra.clone()),
        }
    }
    addresses.extend(loopback.iter().filter(|address| **address != names.address));
    authority.sign(&LeafOptions {
        common_name: Some(common_name.to_owned()),
        organizations: Vec::new(),
        dns_names,
        addresses,
        usages: vec![Usage::Server],
        not_before: now,
        not_after: now + Duration::hours(24),
    })
}

/// TLS as in maintenance: nobody is asked for a certificate.
pub fn maintenance(leaf: &Leaf) -> Result<ServerConfig> {
    finish(builder()?.with_no_client_auth(), leaf)
}

/// TLS as when configured: a client certificate of one of these CAs is required.
///
/// `clock_offset` is added to the time certificates are judged at.
pub fn configured(leaf: &Leaf, accepted: &[String], clock_offset: i64) -> Result<ServerConfig> {
    let accepted = accepted
        .iter()
        .map(|pem| certificate(pem))
        .collect::<Result<Vec<_>>>()?;
    let subjects = accepted
        .iter()
        .filter_map(|ca| X509Certificate::from_der(ca).ok())
        .map(|(_, ca)| DistinguishedName::from(ca.subject().as_raw().to_vec()))
        .collect();
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let verifier = Verifier {
        accepted,
        subjects,
        algorithms,
        clock_offset,
    };
    finish(
        builder()?.with_client_cert_verifier(Arc::new(verifier)),
        leaf,
    )
}

type Builder = rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert>;
type Versions = rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier>;

fn builder() -> Result<Versions> {
    let provider = Arc::new(ring::default_provider());
    Ok(ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?)
}

fn finish(builder: Builder, leaf: &Leaf) -> Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(signing_key(&leaf.key)?.serialize_der().into());
    let mut config = builder.with_single_cert(vec![certificate(&leaf.certificate)?], key)?;
    // Only h2 is offered, but a client without ALPN or with another protocol completes the handshake.
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn certificate(pem: &str) -> Result<CertificateDer<'static>> {
    Ok(pem::parse(pem)
        .context("certificate is not PEM")?
        .into_contents()
        .into())
}

/// Organizations in a certificate's subject: the roles.
pub fn organizations(der: &[u8]) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return Vec::new();
    };
    let values = certificate
        .subject()
        .iter_organization()
        .filter_map(|value| value.as_str().ok());
    values.map(str::to_owned).collect()
}

#[derive(Debug)]
struct Verifier {
    accepted: Vec<CertificateDer<'static>>,
    subjects: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
    clock_offset: i64,
}

impl Verifier {
    /// Each error becomes the alert Talos sends: unknown CA, expired certificate, bad certificate.
    fn judge(&self, leaf: &[u8], now: i64) -> Result<(), CertificateError> {
        let (_, leaf) =
            X509Certificate::from_der(leaf).map_err(|_| CertificateError::BadEncoding)?;
        let signed_by = |ca: &X509Certificate<'_>| {
            leaf.issuer() == ca.subject() && leaf.verify_signature(Some(ca.public_key())).is_ok()
        };
        let authorities = self
            .accepted
            .iter()
            .filter_map(|ca| X509Certificate::from_der(ca).ok());
        let (_, authority) = authorities
            .into_iter()
            .find(|(_, ca)| signed_by(ca))
            .ok_or(CertificateError::UnknownIssuer)?;
        for certificate in [&leaf, &authority] {
            let validity = certificate.validity();
            if now < validity.not_before.timestamp() {
                return Err(CertificateError::NotValidYet);
            }
            if now > validity.not_after.timestamp() {
                return Err(CertificateError::Expired);
            }
        }
        let usage = leaf
            .extended_key_usage()
            .ok()
            .flatten()
            .map(|usage| usage.value);
        if usage.is_some_and(only_client) {
            Ok(())
        } else {
            Err(CertificateError::BadEncoding)
        }
    }
}

/// The list must EQUAL [clientAuth].
fn only_client(usage: &ExtendedKeyUsage<'_>) -> bool {
    let others = [
        usage.any,
        usage.server_auth,
        usage.code_signing,
        usage.email_protection,
        usage.time_stamping,
        usage.ocsp_signing,
    ];
    usage.client_auth && !others.contains(&true) && usage.other.is_empty()
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let now = i64::try_from(now.as_secs())
            .unwrap_or(i64::MAX)
            .saturating_add(self.clock_offset);
        self.judge(end_entity, now)
            .map(|()| ClientCertVerified::assertion())
            .map_err(Error::InvalidCertificate)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
