//! Carrying a step out: the only place where serving keys are made.

use super::plan::{Step, has_expired};
use super::secret::{ServingError, ServingSecret};
use super::{BACKDATE, Injected, Wanted};
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

/// Most CAs that are taken over from the webhook configurations when the Secret is lost.
const MOST_ADOPTED: usize = 4;

/// The Secret after `step`. Without a stored Secret every step makes everything.
pub fn carry_out(
    step: Step,
    stored: Option<ServingSecret>,
    injected: Injected<'_>,
    now: Timestamp,
    wanted: &Wanted,
) -> Result<ServingSecret, ServingError> {
    let Some(stored) = stored else {
        return make_all(injected, now, wanted);
    };
    Ok(match step {
        Step::Keep => stored,
        Step::MakeAll => make_all(injected, now, wanted)?,
        Step::AddAuthority => {
            let mut older = vec![stored.authority.certificate_der().clone()];
            older.extend(stored.older);
            older.retain(|ca| !has_expired(ca, now));
            ServingSecret {
                authority: authority(now, wanted)?,
                older,
                ..stored
            }
        }
        Step::IssueLeaf => {
            let (leaf, key) = leaf(&stored.authority, now, wanted)?;
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

/// What clients trust already stays in the bundle: replicas go on serving leaves of it although the Secret that had its
/// key is gone, until the new CA is known everywhere.
fn make_all(
    injected: Injected<'_>,
    now: Timestamp,
    wanted: &Wanted,
) -> Result<ServingSecret, ServingError> {
    let authority = authority(now, wanted)?;
    let (leaf, key) = leaf(&authority, now, wanted)?;
    let older = keys::certificates(injected.bundle)
        .into_iter()
        .filter(|ca| !has_expired(ca, now))
        .take(MOST_ADOPTED)
        .map(CertificateDer::from)
        .collect();
    Ok(ServingSecret {
        authority,
        older,
        leaf,
        key,
    })
}

/// A CA of ECDSA P-256, which every API server verifies.
fn authority(now: Timestamp, wanted: &Wanted) -> Result<CertificateAuthority, ServingError> {
    let mut pair = pair()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = name(&format!("ichor-webhook-ca-{}", now.as_second()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    span(&mut params, now, wanted.lifetimes.authority, None);
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
    wanted: &Wanted,
) -> Result<Leaf, ServingError> {
    let mut pair = pair()?;
    let mut params = CertificateParams::new(wanted.names.as_slice()).map_err(make)?;
    params.distinguished_name = name("ichor-webhook");
    params.is_ca = IsCa::NoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    span(&mut params, now, wanted.lifetimes.leaf, Some(authority));
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
