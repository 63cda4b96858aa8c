//! Bundles with one thing wrong each, for the tests of whoever reads bundles.

use anyhow::{Context, Result};
use serde_json::Value;
use time::{Duration, OffsetDateTime};

use super::authority::Authority;
use super::bundle::{Bundle, Pair};
use super::keys::Algorithm;

/// What is wrong with the Talos API CA of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// `certs.os` is missing.
    NoCa,
    /// `certs.os.key` holds the certificate.
    CertificateAsKey,
    /// The CA expired yesterday.
    ExpiredCa,
    /// The CA is valid from tomorrow.
    FutureCa,
    /// The key belongs to another CA.
    KeyMismatch,
    /// `certs.os.key` is not base64.
    NotBase64,
    /// The certificate is not PEM.
    NotPem,
}

impl Bundle {
    /// The bundle's YAML with a defect put in.
    pub fn with_defect(&self, defect: Defect) -> Result<String> {
        let mut value = serde_json::to_value(self)?;
        let certs = value
            .get_mut("certs")
            .and_then(Value::as_object_mut)
            .context("bundle without certs")?;
        let good = certs.get("os").cloned().unwrap_or_default();
        match defect {
            Defect::NoCa => {
                certs.remove("os");
            }
            Defect::CertificateAsKey => certs["os"]["key"] = good["crt"].clone(),
            Defect::ExpiredCa => certs["os"] = pair(-Duration::days(365), -Duration::days(1))?,
            Defect::FutureCa => certs["os"] = pair(Duration::days(1), Duration::days(365))?,
            Defect::KeyMismatch => {
                certs["os"]["key"] = pair(Duration::ZERO, Duration::days(1))?["key"].clone();
            }
            Defect::NotBase64 => certs["os"]["key"] = Value::from("%%% not base64 %%%"),
            Defect::NotPem => certs["os"]["crt"] = Value::from("bm90IHBlbQo="),
        }
        serde_saphyr::to_string(&value).context("writing a defective bundle")
    }
}

fn pair(from: Duration, to: Duration) -> Result<Value> {
    let now = OffsetDateTime::now_utc();
    let authority = Authority::valid(Algorithm::Ed25519, Some("talos"), now + from, now + to)?;
    Ok(serde_json::to_value(Pair::of(&authority))?)
}
