//! What keeps a reclaim from going on, by class: transient (tried again with a growing pause), waiting (tried again
//! at a fixed interval, with the reason in a condition) or the end (STYLE rule 5; record 0060).

use super::decide::{Ending, Wait};
use crate::controller::clusters::CredentialUnavailable;
use ichor_crds::conditions::reclaim as reason;
use ichor_talos::{Class, Kind, TalosError};

/// What keeps a reclaim from going on.
#[derive(Debug)]
pub enum Trouble {
    /// The API server, or something else that is nobody's state: tried again with a growing pause.
    Transient(anyhow::Error),
    /// Time can fix it.
    Wait(Wait),
    /// Nothing can.
    End(Ending),
}

impl From<kube::Error> for Trouble {
    fn from(error: kube::Error) -> Self {
        Self::Transient(error.into())
    }
}

impl From<TalosError> for Trouble {
    fn from(error: TalosError) -> Self {
        tracing::debug!(address = %error.address(), remote = error.remote_text(), "a call to a machine failed");
        let text = error.summary().to_owned();
        match (error.kind(), error.class()) {
            (Kind::LeaseLost, _) => Self::Transient(anyhow::anyhow!(text)),
            (Kind::LocalAddress, _) => Self::End(Ending::refused(reason::LOCAL_ADDRESS, text)),
            // "A node that does not belong to that cluster cannot be dialled (its certificate is not signed by that
            // CA)" (record 0136): time does not change whose machine it is.
            (Kind::WrongCa, _) => Self::End(Ending::refused(
                reason::TALOS_CONNECT_FAILED,
                format!(
                    "{text}. It is not a machine of the cluster whose credentials were given; nothing was sent"
                ),
            )),
            (Kind::Maintenance, _) => Self::End(Ending::refused(
                reason::REFUSED,
                format!("{text}: there is nothing to wipe"),
            )),
            (_, Class::Unreachable) => Self::Wait(Wait::new(reason::UNREACHABLE, text)),
            (_, Class::Refused) => Self::Wait(Wait::new(reason::TALOS_CONNECT_FAILED, text)),
            (_, Class::NotReady | Class::Busy | Class::Gone | Class::Invalid) => {
                Self::Wait(Wait::new(reason::NOT_READY, text))
            }
        }
    }
}

impl Trouble {
    /// A credential that is not there: `reason` says which kind was asked for.
    pub fn credential(reason: &'static str, error: CredentialUnavailable) -> Self {
        match error {
            CredentialUnavailable::Kubernetes(error) => error.into(),
            error => Self::Wait(Wait::new(reason, error.to_string())),
        }
    }
}
