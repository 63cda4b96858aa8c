//! Public keys of age are what they should be: a mistyped one makes snapshots that nobody can open. They
//! are text in Bech32 (BIP 173), whose checksum finds mistakes.

use crate::field::FieldError;
use bech32::Bech32;
use bech32::primitives::decode::CheckedHrpstring;
use ichor_crds::TalosEtcdBackup;

type Snapshot = crate::request::Snapshot<TalosEtcdBackup>;

pub(super) fn recipients(snapshot: &Snapshot) -> Vec<FieldError> {
    let spec = snapshot.facts.spec();
    let encryption = spec.and_then(|spec| spec.encryption.as_ref());
    let recipients = encryption
        .iter()
        .flat_map(|encryption| &encryption.recipients);
    let broken = recipients.filter(|text| !is_recipient(text));
    let errors = broken.map(|text| {
        let why = if text.to_lowercase().starts_with("age-secret-key-") {
            // It is not repeated.
            return FieldError::forbidden("spec.encryption.recipients", "holds an identity (AGE-SECRET-KEY-...), which opens every snapshot: give its public key, age1...");
        } else {
            "is no public key of age: age-keygen -y IDENTITY prints it, take all of it (age1... of 62 letters and digits, none of a plugin)"
        };
        FieldError::invalid("spec.encryption.recipients", text, why)
    });
    errors.collect()
}

/// Whether the text is an X25519 key in Bech32, whose checksum is right. Keys of plugins cannot be used: no program of
/// theirs is where Ichor runs.
fn is_recipient(text: &str) -> bool {
    let Ok(parsed) = CheckedHrpstring::new::<Bech32>(text) else {
        return false;
    };
    parsed.hrp().as_bytes() == b"age" && parsed.byte_iter().count() == 32
}
