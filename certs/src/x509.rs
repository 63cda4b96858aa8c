//! What is read from a certificate, in types of this crate.

use jiff::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;

/// From when to when a certificate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
}

/// Parses one certificate and nothing after it.
pub(crate) fn parse(der: &[u8]) -> Option<X509Certificate<'_>> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Some(certificate),
        _ => None,
    }
}

pub(crate) fn validity(certificate: &X509Certificate<'_>) -> Option<Validity> {
    let validity = certificate.validity();
    Some(Validity {
        not_before: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
        not_after: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
    })
}

/// The subject key identifier as it stands in the certificate. Talos chooses it at random, so it cannot be
/// computed from the key (`talos-api.md` section 1).
pub(crate) fn subject_key_identifier<'a>(certificate: &X509Certificate<'a>) -> Option<&'a [u8]> {
    certificate
        .extensions()
        .iter()
        .find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0),
            _ => None,
        })
}
