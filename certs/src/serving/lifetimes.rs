//! How long serving certificates live. Settings, so that a rotation can be watched in seconds.

use jiff::SignedDuration;

const fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// How long the serving CA and its leaf live, and when they are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Life of a CA.
    pub authority: SignedDuration,
    /// How long before its end a CA gets a successor.
    pub authority_renew_before: SignedDuration,
    /// Life of a leaf.
    pub leaf: SignedDuration,
    /// How long before its end a leaf gets a successor.
    pub leaf_renew_before: SignedDuration,
    /// How long a CA stands in the webhook configurations before leaves of it are made: API servers see a changed
    /// configuration a little later than it is written.
    pub propagation: SignedDuration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            authority: days(365),
            authority_renew_before: days(120),
            leaf: days(90),
            leaf_renew_before: days(30),
            propagation: SignedDuration::from_mins(2),
        }
    }
}

/// Lifetimes with which a rotation cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifetimesError {
    /// The leaf outlives its CA.
    #[error("the certificate may not live longer than its CA")]
    LeafOutlivesAuthority,
    /// Renewed at once, for ever.
    #[error(
        "a certificate and its CA have to live longer than the time before their end at which they are renewed"
    )]
    RenewedAtOnce,
    /// The leaf of a CA that ends soon would be renewed at once.
    #[error("a CA has to be renewed no later before its end than the certificate is")]
    AuthorityRenewedLate,
    /// The old one ends before the new CA is known everywhere.
    #[error(
        "the time for propagation has to be shorter than the time before their end at which certificate and CA are renewed"
    )]
    NoTimeToPropagate,
    /// The next CA comes before this one signs.
    #[error(
        "a CA has to live longer than the time for propagation and the time before its end at which it is renewed"
    )]
    NeverSigns,
}

impl Lifetimes {
    /// Whether a rotation works with them.
    pub fn check(&self) -> Result<(), LifetimesError> {
        if self.leaf > self.authority {
            return Err(LifetimesError::LeafOutlivesAuthority);
        }
        if self.leaf_renew_before >= self.leaf || self.authority_renew_before >= self.authority {
            return Err(LifetimesError::RenewedAtOnce);
        }
        if self.authority_renew_before < self.leaf_renew_before {
            return Err(LifetimesError::AuthorityRenewedLate);
        }
        if self.propagation >= self.leaf_renew_before {
            return Err(LifetimesError::NoTimeToPropagate);
        }
        if self.authority - self.authority_renew_before <= self.propagation {
            return Err(LifetimesError::NeverSigns);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (fn(&mut Lifetimes), LifetimesError);

    #[test]
    fn what_cannot_rotate_is_refused() {
        assert_eq!(Lifetimes::default().check(), Ok(()));
        let rows: [Row; 6] = [
            (
                |l| l.leaf = days(366),
                LifetimesError::LeafOutlivesAuthority,
            ),
            (
                |l| l.leaf_renew_before = days(90),
                LifetimesError::RenewedAtOnce,
            ),
            (
                |l| l.authority_renew_before = days(365),
                LifetimesError::RenewedAtOnce,
            ),
            (
                |l| l.authority_renew_before = days(29),
                LifetimesError::AuthorityRenewedLate,
            ),
            (
                |l| l.propagation = days(30),
                LifetimesError::NoTimeToPropagate,
            ),
            (
                |l| l.authority_renew_before = l.authority - l.propagation,
                LifetimesError::NeverSigns,
            ),
        ];
        for (number, (change, error)) in rows.into_iter().enumerate() {
            let mut lifetimes = Lifetimes::default();
            change(&mut lifetimes);
            assert_eq!(lifetimes.check(), Err(error), "row {number}");
        }
    }
}
