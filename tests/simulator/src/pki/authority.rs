//! Authorities and the leafs they sign.

use std::net::IpAddr;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use time::{Duration, OffsetDateTime};

use super::keys::{self, Algorithm};

/// A CA: certificate and key as PEM text.
#[derive(Clone, PartialEq, Eq)]
pub struct Authority {
    /// Certificate, PEM.
    pub certificate: String,
    /// Private key, PEM with the label Talos writes for its algorithm.
    pub key: String,
}

/// A signed certificate with its key, both PEM.
#[derive(Clone)]
pub struct Leaf {
    /// Certificate, PEM.
    pub certificate: String,
    /// Private key, PEM.
    pub key: String,
}

/// Extended key usages a test may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// `clientAuth`.
    Client,
    /// `serverAuth`.
    Server,
}

/// What a leaf shall say.
#[derive(Clone)]
pub struct LeafOptions {
    /// Common name, absent when `None`.
    pub common_name: Option<String>,
    /// Organizations; Talos reads its roles from them.
    pub organizations: Vec<String>,
    /// DNS names.
    pub dns_names: Vec<String>,
    /// IP addresses.
    pub addresses: Vec<IpAddr>,
    /// Extended key usages, in order.
    pub usages: Vec<Usage>,
    /// Start of validity.
    pub not_before: OffsetDateTime,
    /// End of validity.
    pub not_after: OffsetDateTime,
}

/// A client certificate, by default a good `os:admin` one for an hour.
#[derive(Clone)]
pub struct ClientOptions {
    /// Roles.
    pub organizations: Vec<String>,
    /// Extended key usages.
    pub usages: Vec<Usage>,
    /// Start of validity.
    pub not_before: OffsetDateTime,
    /// End of validity.
    pub not_after: OffsetDateTime,
}

impl ClientOptions {
    /// A good certificate of these roles, valid for an hour.
    pub fn with_roles(roles: &[&str]) -> Self {
        let now = OffsetDateTime::now_utc();
        Self {
            organizations: roles.iter().map(ToString::to_string).collect(),
            usages: vec![Usage::Client],
            not_before: now - Duration::minutes(10),
            not_after: now + Duration::hours(1),
        }
    }
}

impl Authority {
    /// A new CA valid for ten years (less leap days) from now.
    pub fn new(algorithm: Algorithm, organization: Option<&str>) -> Result<Self> {
        let now = OffsetDateTime::now_utc();
        Self::valid(algorithm, organization, now, now + Duration::hours(87_600))
    }

    /// A new CA with the given validity.
    pub fn valid(
        algorithm: Algorithm,
        organization: Option<&str>,
        not_before: OffsetDateTime,
        not_after: OffsetDateTime,
    ) -> Result<Self> {
        let key = keys::generate(algorithm)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name(None, organization.map(str::to_owned).as_slice());
        params.serial_number = Some(serial());
        params.not_before = not_before;
        params.not_after = not_after;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        // Talos writes random bytes here, not a hash of the key.
        params.key_identifier_method =
            KeyIdMethod::PreSpecified(rand::random::<[u8; 20]>().to_vec());
        let certificate = params
            .self_signed(&keys::read(&key)?)
            .context("signing a CA")?;
        Ok(Self {
            certificate: certificate.pem(),
            key,
        })
    }

    /// Signs a leaf with a new key of the CA's kind (P-256 under an RSA CA).
    pub fn sign(&self, options: &LeafOptions) -> Result<Leaf> {
        let issuer_key = keys::read(&self.key)?;
        let algorithm = if issuer_key.is_compatible(&rcgen::PKCS_ED25519) {
            Algorithm::Ed25519
        } else {
            Algorithm::Ecdsa
        };
        let key = keys::generate(algorithm)?;
        let certificate = self.certify(issuer_key, &keys::read(&key)?, options)?;
        Ok(Leaf { certificate, key })
    }

    /// Signs a client certificate.
    pub fn client(&self, options: &ClientOptions) -> Result<Leaf> {
        self.sign(&LeafOptions {
            common_name: None,
            organizations: options.organizations.clone(),
            dns_names: Vec::new(),
            addresses: Vec::new(),
            usages: options.usages.clone(),
            not_before: options.not_before,
            not_after: options.not_after,
        })
    }

    fn certify(&self, issuer_key: KeyPair, key: &KeyPair, options: &LeafOptions) -> Result<String> {
        let issuer = Issuer::from_ca_cert_pem(&self.certificate, issuer_key)
            .context("reading the CA certificate")?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name(options.common_name.clone(), &options.organizations);
        params.serial_number = Some(serial());
        params.not_before = options.not_before;
        params.not_after = options.not_after;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = options.usages.iter().map(|usage| usage.purpose()).collect();
        params.use_authority_key_identifier_extension = true;
        for dns in &options.dns_names {
            params
                .subject_alt_names
                .push(SanType::DnsName(dns.as_str().try_into()?));
        }
        params
            .subject_alt_names
            .extend(options.addresses.iter().copied().map(SanType::IpAddress));
        Ok(params
            .signed_by(key, &issuer)
            .context("signing a leaf")?
            .pem())
    }
}

impl Usage {
    fn purpose(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::Client => ExtendedKeyUsagePurpose::ClientAuth,
            Self::Server => ExtendedKeyUsagePurpose::ServerAuth,
        }
    }
}

fn name(common_name: Option<String>, organizations: &[String]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // rcgen keeps one value per attribute type, so a second organization goes in under its bare OID. Two are the most.
    for (index, organization) in organizations.iter().enumerate() {
        let kind = if index == 0 {
            DnType::OrganizationName
        } else {
            DnType::CustomDnType(vec![2, 5, 4, 10])
        };
        name.push(kind, organization.clone());
    }
    if let Some(common_name) = common_name {
        name.push(DnType::CommonName, common_name);
    }
    name
}

fn serial() -> SerialNumber {
    let mut bytes: [u8; 16] = rand::random();
    bytes[0] &= 0x7f;
    SerialNumber::from_slice(&bytes)
}
