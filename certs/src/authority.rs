//! A certificate authority with its key: what signs.

use crate::keys::{self, KeyError};
use crate::x509::{self, Validity};
use jiff::Timestamp;
use rcgen::{CertificateParams, Issuer, KeyPair, PublicKeyData};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Why a certificate and a key make no certificate authority. Texts follow the name of the part they are about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// The certificate is no PEM text.
    #[error("certificate is not PEM text")]
    CertificateNotPem,
    /// A key stands where the certificate belongs.
    #[error("certificate has the PEM label {0:?} instead of CERTIFICATE")]
    NotACertificate(String),
    /// The certificate's content cannot be read.
    #[error("certificate cannot be read as X.509")]
    CertificateMalformed,
    /// The certificate may not sign others.
    #[error("certificate is not one of a certificate authority (basic constraints say so)")]
    NotAnAuthority,
    /// The subject has a name that cannot be repeated as the issuer of another certificate.
    #[error(
        "certificate has a subject name of an uncommon form (an element without or with several attributes)"
    )]
    Name,
    /// The key cannot be used.
    #[error("key {0}")]
    Key(#[from] KeyError),
    /// The key's algorithm or size is none that can sign here.
    #[error(
        "key is of a kind that cannot sign: use Ed25519, ECDSA P-256 or P-384, or RSA of 2048 to 4096 bits"
    )]
    KeyUnusable,
    /// Certificate and key are not a pair.
    #[error("key does not match the certificate: they are not one pair")]
    KeyMismatch,
}

/// A certificate authority that can sign. The key is zeroed when it is dropped.
pub struct CertificateAuthority {
    certificate: CertificateDer<'static>,
    key: SigningKey,
    validity: Validity,
    key_identifier: Option<Vec<u8>>,
}

struct SigningKey(KeyPair);

impl Drop for SigningKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl CertificateAuthority {
    /// Reads a certificate and a private key, both PEM text, and checks that they are one pair.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, AuthorityError> {
        let block = pem::parse(certificate).map_err(|_| AuthorityError::CertificateNotPem)?;
        if block.tag() != "CERTIFICATE" {
            return Err(AuthorityError::NotACertificate(block.tag().to_owned()));
        }
        let der = CertificateDer::from(block.into_contents());
        let parsed = x509::parse(&der).ok_or(AuthorityError::CertificateMalformed)?;
        let validity = x509::validity(&parsed).ok_or(AuthorityError::CertificateMalformed)?;
        if parsed.version() == x509_parser::x509::X509Version::V3 && !parsed.is_ca() {
            return Err(AuthorityError::NotAnAuthority);
        }
        // rcgen takes one attribute an element, and panics on none, and on a type whose first arc X.660 does not have.
        let repeatable = |part: &x509_parser::x509::RelativeDistinguishedName<'_>| {
            let mut attributes = part.iter();
            let first = attributes.next().and_then(|one| one.attr_type().iter());
            let arc = first.and_then(|mut arcs| arcs.next());
            attributes.next().is_none() && arc.is_some_and(|arc| arc <= 2)
        };
        if !parsed.subject().iter().all(repeatable) {
            return Err(AuthorityError::Name);
        }
        let point = parsed.public_key().subject_public_key.data.as_ref();
        let pkcs8 = keys::private_key(key, point)?;
        let key = signing_key(&pkcs8, &parsed)?;
        let key_identifier = x509::subject_key_identifier(&parsed).map(<[u8]>::to_vec);
        Ok(Self {
            certificate: der.clone(),
            key,
            validity,
            key_identifier,
        })
    }

    /// The certificate, DER.
    pub fn certificate_der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate, PEM.
    pub fn certificate_pem(&self) -> String {
        keys::certificate_pem(&self.certificate)
    }

    /// The private key as PKCS#8 PEM: only for the Secret of the serving CA, and for tests.
    pub fn key_pem(&self) -> Zeroizing<String> {
        keys::key_pem(self.key.0.serialized_der())
    }

    /// Start of the certificate's validity.
    pub fn not_before(&self) -> Timestamp {
        self.validity.not_before
    }

    /// End of the certificate's validity.
    pub fn not_after(&self) -> Timestamp {
        self.validity.not_after
    }

    /// Signs `params` for the holder of `subject_key`. The authority key identifier is the subject key
    /// identifier of this certificate as it stands there.
    pub(crate) fn sign(
        &self,
        mut params: CertificateParams,
        subject_key: &KeyPair,
    ) -> Result<CertificateDer<'static>, rcgen::Error> {
        params.use_authority_key_identifier_extension = self.key_identifier.is_some();
        let issuer = Issuer::from_ca_cert_der(&self.certificate, &self.key.0)?;
        let signed = params.signed_by(subject_key, &issuer)?.der().clone();
        // rcgen spells the issuer's name anew; a name it cannot spell would give a certificate nobody accepts.
        let same_name = match (x509::parse(&signed), x509::parse(&self.certificate)) {
            (Some(leaf), Some(ca)) => leaf.issuer().as_raw() == ca.subject().as_raw(),
            _ => false,
        };
        if same_name {
            Ok(signed)
        } else {
            Err(rcgen::Error::CouldNotParseCertificate)
        }
    }
}

fn signing_key(
    pkcs8: &[u8],
    certificate: &x509_parser::certificate::X509Certificate<'_>,
) -> Result<SigningKey, AuthorityError> {
    let algorithms: [&'static rcgen::SignatureAlgorithm; 4] = [
        &rcgen::PKCS_ED25519,
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_RSA_SHA256,
    ];
    let der = PrivatePkcs8KeyDer::from(pkcs8);
    let key = algorithms
        .into_iter()
        .find_map(|algorithm| KeyPair::from_pkcs8_der_and_sign_algo(&der, algorithm).ok())
        .map(SigningKey)
        .ok_or(AuthorityError::KeyUnusable)?;
    if key.0.subject_public_key_info() == certificate.public_key().raw {
        Ok(key)
    } else {
        Err(AuthorityError::KeyMismatch)
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority")
            .field("not_before", &self.validity.not_before)
            .field("not_after", &self.validity.not_after)
            .finish_non_exhaustive()
    }
}
