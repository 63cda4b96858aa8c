//! The CAs of `--client-ca-file`, exchanged without a restart: a mounted file is renewed like any certificate.

use super::tls::{TlsError, roots};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::{Arc, PoisonError, RwLock};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Lets in clients with a certificate of the CAs it was told last, and nobody before it was told any. Where there are
/// names, the certificate has to carry one of them: the CA of a cluster signs for every kubelet and person, too.
#[derive(Debug, Default)]
pub struct ClientAuthorities {
    names: Vec<String>,
    current: RwLock<Option<Current>>,
}

#[derive(Clone, Debug)]
struct Current {
    authorities: Vec<Vec<u8>>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientAuthorities {
    /// Clients need one of these names, as common name or DNS name; any will do where there is none.
    pub fn named(names: Vec<String>) -> Self {
        Self {
            names,
            current: RwLock::default(),
        }
    }

    /// From the next handshake on, clients need a certificate of one of these CAs (DER). Gives whether something
    /// changed.
    ///
    /// # Errors
    /// When there is no CA or one cannot be used; those before stay.
    pub fn replace(&self, authorities: Vec<Vec<u8>>) -> Result<bool, TlsError> {
        if self
            .current()
            .is_some_and(|known| known.authorities == authorities)
        {
            return Ok(false);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots(authorities.clone())?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build()?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Current {
            authorities,
            verifier,
        });
        Ok(true)
    }

    fn knows(&self, leaf: &[u8]) -> bool {
        let is_known = |name: &str| self.names.iter().any(|known| known == name);
        self.names.is_empty() || names(leaf).iter().any(|name| is_known(name))
    }

    fn current(&self) -> Option<Current> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let current = self.current().map(|current| current.verifier);
        current.ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }
}

/// The common name and the DNS names of a certificate (DER).
fn names(leaf: &[u8]) -> Vec<String> {
    let Ok((_, leaf)) = X509Certificate::from_der(leaf) else {
        return Vec::new();
    };
    let common = leaf.subject().iter_common_name();
    let common = common.filter_map(|name| name.as_str().ok());
    let alternative = leaf.subject_alternative_name().ok().flatten();
    let alternative = alternative
        .iter()
        .flat_map(|names| &names.value.general_names);
    let dns = alternative.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(*name),
        _ => None,
    });
    common.chain(dns).map(ToOwned::to_owned).collect()
}

impl ClientCertVerifier for ClientAuthorities {
    /// None: they would have to outlive the handshake, and a client without them shows what it has.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .verifier()?
            .verify_client_cert(leaf, intermediates, now)?;
        if self.knows(leaf) {
            Ok(verified)
        } else {
            Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?
            .verify_tls12_signature(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?
            .verify_tls13_signature(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = rustls::crypto::ring::default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
