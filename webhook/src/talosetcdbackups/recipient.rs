//! Public keys of age are what they should be: a mistyped one makes snapshots that nobody can open. They
//! are text in Bech32 (BIP 173), whose checksum finds mistakes.

use crate::field::FieldError;
use ichor_crds::TalosEtcdBackup;

type Snapshot = crate::request::Snapshot<TalosEtcdBackup>;

const SIGNS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATORS: [u32; 5] = [
    0x3b6a_57b2,
    0x2650_8e6d,
    0x1ea1_19fa,
    0x3d42_33dd,
    0x2a14_62b3,
];

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
            "is no public key of age: age-keygen -y IDENTITY prints it, take all of it"
        };
        FieldError::invalid("spec.encryption.recipients", text, why)
    });
    errors.collect()
}

/// Whether the text is Bech32 with a name that is age's, and its checksum is right.
fn is_recipient(text: &str) -> bool {
    let Some((name, data)) = text.rsplit_once('1') else {
        return false;
    };
    let values: Option<Vec<u8>> = data
        .bytes()
        .map(|byte| SIGNS.iter().position(|sign| *sign == byte))
        .map(|at| at.and_then(|at| u8::try_from(at).ok()))
        .collect();
    let Some(values) = values.filter(|values| values.len() > 6) else {
        return false;
    };
    let name_bytes = name.as_bytes();
    let high = name_bytes.iter().map(|byte| byte >> 5);
    let low = name_bytes.iter().map(|byte| byte & 31);
    let all = high.chain([0]).chain(low).chain(values);
    name.starts_with("age") && checksum(all) == 1
}

fn checksum(values: impl Iterator<Item = u8>) -> u32 {
    values.fold(1, |sum, value| {
        let top = sum >> 25;
        let next = ((sum & 0x01ff_ffff) << 5) ^ u32::from(value);
        let chosen = GENERATORS
            .iter()
            .enumerate()
            .filter(|(bit, _)| (top >> bit) & 1 == 1);
        chosen.fold(next, |next, (_, generator)| next ^ generator)
    })
}
