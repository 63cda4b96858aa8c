//! Carrying a step out: the only place where serving keys are made.

use super::plan::{Step, has_expired};
use super::secret::{ServingError, ServingSecret};
use super::{BACKDATE, CA_LIFE, LEAF_LIFE};
use crate::authority::CertificateAuthority;
use crate::keys;
use crate::mint::{datetime, serial};
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::CertificateDer;
use zeroize::{Zeroize, Zeroizing};

/// The Secret after `step`. Without a stored Secret every step but [`Step::Keep`] makes everything.
pub fn carry_out(
    step: Step,
    stored: Option<ServingSecret>,
    now: Timestamp,
    names: &[String],
) -> Result<ServingSecret, ServingError> {
    let Some(stored) = stored else {
        return make_all(now, names);
    };
    Ok(match step {
        Step::Keep => stored,
        Step::MakeAll => make_all(now, names)?,
        Step::AddAuthority => {
            let mut older = vec![stored.authority.certificate_der().clone()];
            older.extend(stored.older);
            older.retain(|ca| !has_expired(ca, now));
            ServingSecret {
                authority: authority(now)?,
                older,
                ..stored
            }
        }
        Step::IssueLeaf => {
            let (leaf, key) = leaf(&stored.authority, now, names)?;
            ServingSecret {
                leaf,
                key,
                ..stored
            }
        }
        Step::DropExpired => {
            let mut kept = stored;
            kept.older.retain(|ca| !has_expired(ca, now));
            kept
        }
    })
}

fn make_all(now: Timestamp, names: &[String]) -> Result<ServingSecret, ServingError> {
    let authority = authority(now)?;
    let (leaf, key) = leaf(&authority, now, names)?;
    Ok(ServingSecret {
        authority,
        older: Vec::new(),
        leaf,
        key,
    })
}

/// A CA of ECDSA P-256, which every API server verifies.
fn authority(now: Timestamp) -> Result<CertificateAuthority, ServingError> {
    let mut pair = pair()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = name(&format!("ichor-webhook-ca-{}", now.as_second()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    span(&mut params, now, CA_LIFE, None);
    params.serial_number = Some(serial());
    let signed = params.self_signed(&pair).map_err(make);
    let key = Zeroizing::new(pair.serialize_der());
    pair.zeroize();
    let certificate = keys::certificate_pem(signed?.der());
    Ok(CertificateAuthority::from_pem(
        certificate.as_bytes(),
        keys::key_pem(&key).as_bytes(),
    )?)
}

type Leaf = (CertificateDer<'static>, Zeroizing<Vec<u8>>);

fn leaf(
    authority: &CertificateAuthority,
    now: Timestamp,
    names: &[String],
) -> Result<Leaf, ServingError> {
    let mut pair = pair()?;
    let mut params = CertificateParams::new(names).map_err(make)?;
    params.distinguished_name = name("ichor-webhook");
    params.is_ca = IsCa::NoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    span(&mut params, now, LEAF_LIFE, Some(authority));
    params.serial_number = Some(serial());
    let signed = authority.sign(params, &pair).map_err(make);
    let key = Zeroizing::new(pair.serialize_der());
    pair.zeroize();
    Ok((signed?, key))
}

/// From a day ago for `life`, within the life of the signing CA.
fn span(
    params: &mut CertificateParams,
    now: Timestamp,
    life: SignedDuration,
    within: Option<&CertificateAuthority>,
) {
    let start = now.checked_sub(BACKDATE).unwrap_or(Timestamp::MIN);
    let end = now.checked_add(life).unwrap_or(Timestamp::MAX);
    params.not_before = datetime(within.map_or(start, |ca| start.max(ca.not_before())));
    params.not_after = datetime(within.map_or(end, |ca| end.min(ca.not_after())));
}

fn pair() -> Result<KeyPair, ServingError> {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(make)
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it is the argument of map_err"
)]
fn make(fault: rcgen::Error) -> ServingError {
    ServingError::Make(fault.to_string())
}
