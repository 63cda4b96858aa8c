//! The little of DER that wraps a bare private key into PKCS#8: rcgen on ring takes nothing else.

use zeroize::Zeroizing;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const PARAMETERS: u8 = 0xa0;
const PUBLIC_KEY: u8 = 0xa1;

/// AlgorithmIdentifier of RSA: rsaEncryption with NULL parameters.
const RSA_ALGORITHM: &[u8] = &[
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];
/// OID id-ecPublicKey, with its tag.
const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// PKCS#1 `RSAPrivateKey` as PKCS#8.
pub(crate) fn rsa_to_pkcs8(pkcs1: &[u8]) -> Zeroizing<Vec<u8>> {
    pkcs8(RSA_ALGORITHM, pkcs1)
}

/// SEC1 `ECPrivateKey` as PKCS#8. SEC1 leaves the public key optional, ring does not: `public_key` (the point
/// of the certificate) stands in for a missing one, and ring checks that it belongs to the private key.
pub(crate) fn sec1_to_pkcs8(sec1: &[u8], public_key: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (tag, body, _) = read(sec1)?;
    if tag != SEQUENCE {
        return None;
    }
    let (tag, _version, rest) = read(body)?;
    if tag != INTEGER {
        return None;
    }
    let (tag, scalar, mut rest) = read(rest)?;
    if tag != OCTET_STRING {
        return None;
    }
    let mut curve = None;
    let mut has_public_key = false;
    while !rest.is_empty() {
        let (tag, value, after) = read(rest)?;
        match tag {
            PARAMETERS => curve = Some(value),
            PUBLIC_KEY => has_public_key = true,
            _ => return None,
        }
        rest = after;
    }
    let curve = curve?;
    if *curve.first()? != OBJECT_IDENTIFIER {
        return None;
    }
    let algorithm = tlv(SEQUENCE, &[EC_PUBLIC_KEY, curve]);
    if has_public_key {
        return Some(pkcs8(&algorithm, sec1));
    }
    let bits = tlv(0x03, &[&[0], public_key]);
    let whole = tlv(
        SEQUENCE,
        &[
            &[INTEGER, 1, 1],
            &tlv(OCTET_STRING, &[scalar]),
            &tlv(PUBLIC_KEY, &[&bits]),
        ],
    );
    Some(pkcs8(&algorithm, &whole))
}

fn pkcs8(algorithm: &[u8], key: &[u8]) -> Zeroizing<Vec<u8>> {
    let key = tlv(OCTET_STRING, &[key]);
    tlv(SEQUENCE, &[&[INTEGER, 1, 0], algorithm, &key])
}

/// One element: tag, length, the parts one after the other.
fn tlv(tag: u8, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // Room for everything at once: a growing vector would leave copies of the key behind.
    let mut out = Zeroizing::new(Vec::with_capacity(length + 10));
    out.push(tag);
    let bytes = length.to_be_bytes();
    let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    match significant {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        long => {
            // At most eight bytes of length.
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            out.extend_from_slice(long);
        }
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

/// The first element of `input`: tag, content, what follows it.
fn read(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = input.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(*first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(count)?;
        let length = bytes
            .iter()
            .fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
        (length, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_as_der_wants_them() {
        for (length, header) in [
            (0, vec![4, 0]),
            (127, vec![4, 127]),
            (128, vec![4, 0x81, 128]),
            (300, vec![4, 0x82, 1, 44]),
        ] {
            let out = tlv(OCTET_STRING, &[&vec![7; length]]);
            assert_eq!(out[..header.len()], header, "{length}");
            let (tag, content, rest) = read(&out).expect("reads back");
            assert_eq!((tag, content.len(), rest.len()), (OCTET_STRING, length, 0));
        }
    }

    #[test]
    fn what_is_no_sec1_key_is_none() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x05\x02",
            b"\x30\x03\x02\x01\x01",
            b"\x04\x00",
            b"\x30\x84\xff\xff\xff\xff",
        ] {
            assert!(sec1_to_pkcs8(bytes, &[]).is_none(), "{bytes:?}");
        }
    }
}
