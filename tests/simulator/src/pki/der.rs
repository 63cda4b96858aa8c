//! The few DER structures that turn one private key encoding into another.

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
/// OID 1.2.840.10045.2.1, an EC key.
const EC_KEY: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// OID 1.2.840.10045.3.1.7, the curve P-256.
pub const P256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// OID 1.2.840.113549.1.1.1, an RSA key, with its NULL parameters.
const RSA_KEY: [u8; 13] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];
/// OID 1.3.101.112, Ed25519.
const ED25519: [u8; 5] = [0x06, 0x03, 0x2b, 0x65, 0x70];

/// One tag, length and value.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut out = vec![tag];
    match significant {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(&content);
    out
}

fn pkcs8(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    tlv(
        SEQUENCE,
        &[
            &tlv(INTEGER, &[&[0]]),
            &tlv(SEQUENCE, &[algorithm]),
            &tlv(OCTET_STRING, &[key]),
        ],
    )
}

/// PKCS#8 of a SEC1 key on P-256.
pub fn pkcs8_of_sec1(sec1: &[u8]) -> Vec<u8> {
    pkcs8(&[&EC_KEY[..], &P256].concat(), sec1)
}

/// PKCS#8 of a PKCS#1 RSA key.
pub fn pkcs8_of_pkcs1(pkcs1: &[u8]) -> Vec<u8> {
    pkcs8(&RSA_KEY, pkcs1)
}

/// PKCS#8 version 1 (without the public key, as Go writes it) of an Ed25519 seed.
pub fn pkcs8_of_ed25519(seed: &[u8; 32]) -> Vec<u8> {
    pkcs8(&ED25519, &tlv(OCTET_STRING, &[seed]))
}

/// The SEC1 form Go writes: version, key, curve, public point.
pub fn sec1(private: &[u8], public: &[u8]) -> Vec<u8> {
    tlv(
        SEQUENCE,
        &[
            &tlv(INTEGER, &[&[1]]),
            &tlv(OCTET_STRING, &[private]),
            &tlv(0xa0, &[&P256]),
            &tlv(0xa1, &[&tlv(0x03, &[&[0], public])]),
        ],
    )
}
