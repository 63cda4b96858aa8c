//! SMBIOS system UUIDs as boards report them, which is not always well.

use std::fmt;
use std::str::FromStr;

/// An SMBIOS system UUID; its text form is lower case with hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemUuid([u8; 16]);

/// Why a text is not a UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a UUID such as 4c4c4544-0042-3510-8052-b4c04f463133")]
pub struct UuidError(String);

/// UUIDs that vendors leave in place of one, shared by many boards (FAULTS 13: talos#8804, omni#1241).
const FILLERS: [&str; 3] = [
    "03000200-0400-0500-0006-000700080009",
    "00020003-0004-0005-0006-000700080009",
    "12345678-1234-5678-90ab-cddeefaabbcc",
];

impl SystemUuid {
    /// The same UUID in the other byte order of its first three fields: one board may print both
    /// (FAULTS 13: go-smbios#7, go-hal#57).
    #[must_use]
    pub fn swapped(self) -> Self {
        let b = self.0;
        let mut swapped = b;
        swapped[..8].copy_from_slice(&[b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]]);
        Self(swapped)
    }

    /// Whether two readings may be of one board: equal, or equal in the swapped byte order
    /// (DESIGN section 18, decision 9).
    pub fn same_board(self, other: Self) -> bool {
        self == other || self.swapped() == other
    }

    /// Whether the value can tell one board from another: not all zero, all F or a vendor's filler.
    pub fn is_distinctive(self) -> bool {
        let filler = FILLERS.iter().any(|text| text.parse() == Ok(self));
        !filler && self.0 != [0; 16] && self.0 != [0xff; 16]
    }
}

impl FromStr for SystemUuid {
    type Err = UuidError;

    fn from_str(text: &str) -> Result<Self, UuidError> {
        let refuse = || UuidError(text.to_owned());
        let bytes = text.trim().as_bytes();
        let mut uuid = [0_u8; 16];
        let mut digits = 0_usize;
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return Err(refuse());
                }
                continue;
            }
            let value = char::from(*byte).to_digit(16).ok_or_else(refuse)?;
            let slot = uuid.get_mut(digits / 2).ok_or_else(refuse)?;
            *slot = (*slot << 4) | u8::try_from(value).map_err(|_| refuse())?;
            digits += 1;
        }
        if digits != 32 || bytes.len() != 36 {
            return Err(refuse());
        }
        Ok(Self(uuid))
    }
}

impl fmt::Display for SystemUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(text: &str) -> SystemUuid {
        text.parse().expect(text)
    }

    #[test]
    fn upper_case_and_spaces_are_one_uuid() {
        assert_eq!(
            uuid(" 4C4C4544-0042-3510-8052-B4C04F463133 ").to_string(),
            "4c4c4544-0042-3510-8052-b4c04f463133"
        );
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for text in [
            "",
            "4c4c4544",
            "4c4c4544-0042-3510-8052-b4c04f46313",
            "4c4c454400423510-8052-b4c04f463133--",
            "zc4c4544-0042-3510-8052-b4c04f463133",
            "4c4c4544-0042-3510-8052-b4c04f4631333",
        ] {
            assert!(text.parse::<SystemUuid>().is_err(), "{text}");
        }
    }

    #[test]
    fn both_byte_orders_are_the_same_board() {
        let printed = uuid("4c4c4544-0042-3510-8052-b4c04f463133");
        let swapped = uuid("44454c4c-4200-1035-8052-b4c04f463133");
        assert_eq!(printed.swapped(), swapped);
        assert!(printed.same_board(swapped) && swapped.same_board(printed));
        assert!(!printed.same_board(uuid("4c4c4544-0042-3510-8052-b4c04f463134")));
    }

    #[test]
    fn fillers_tell_no_board_from_another() {
        for (text, distinctive) in [
            ("00000000-0000-0000-0000-000000000000", false),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", false),
            ("03000200-0400-0500-0006-000700080009", false),
            ("4c4c4544-0042-3510-8052-b4c04f463133", true),
        ] {
            assert_eq!(uuid(text).is_distinctive(), distinctive, "{text}");
        }
    }
}
