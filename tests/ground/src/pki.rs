//! Certificates of people and servers of the test ground.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};

/// A Kubernetes CA as files.
#[derive(Clone, Debug)]
pub struct KubernetesCa {
    /// Certificate, PEM.
    pub certificate: String,
    /// Key, PEM (PKCS#8).
    pub key: String,
}

/// A certificate with its key, PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Certificate.
    pub certificate: String,
    /// Key.
    pub key: String,
}

impl KubernetesCa {
    /// Makes a CA such as Talos makes for Kubernetes: ECDSA P-256, `O=kubernetes`.
    pub fn generate() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = validity(CertificateParams::default());
        params.distinguished_name = name(None, &["kubernetes"]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Writes both files into `folder`.
    pub fn write(&self, folder: &Path) -> Result<(PathBuf, PathBuf)> {
        let (certificate, key) = (
            folder.join("kubernetes-ca.crt"),
            folder.join("kubernetes-ca.key"),
        );
        std::fs::write(&certificate, &self.certificate)?;
        std::fs::write(&key, &self.key)?;
        Ok((certificate, key))
    }

    /// A client certificate of user `user` in `groups`.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Pair> {
        let mut params = validity(CertificateParams::default());
        params.distinguished_name = name(Some(user), groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// A server certificate for an address and a name.
    pub fn server(&self, address: IpAddr, host: &str) -> Result<Pair> {
        let mut params = validity(CertificateParams::default());
        params.distinguished_name = name(Some(host), &[]);
        params.subject_alt_names = vec![
            SanType::IpAddress(address),
            SanType::DnsName(host.try_into()?),
        ];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Pair> {
        let issuer = Issuer::from_ca_cert_pem(&self.certificate, KeyPair::from_pem(&self.key)?)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn name(common: Option<&str>, organisations: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(common) = common {
        name.push(DnType::CommonName, common);
    }
    for organisation in organisations {
        name.push(DnType::OrganizationName, *organisation);
    }
    name
}

fn validity(mut params: CertificateParams) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(30);
    params
}
