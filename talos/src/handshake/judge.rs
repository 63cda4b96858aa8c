//! Failures before a connection stood, in words and classes.

use crate::credential::Credential;
use crate::error::{Class, Kind, TalosError};
use crate::tls::{self, SeenLeaf};
use jiff::Timestamp;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// What was dialled, when, and with what.
pub(super) struct Dialled<'a> {
    pub(super) address: IpAddr,
    pub(super) now: Timestamp,
    /// `None` towards machines in maintenance mode.
    pub(super) credential: Option<&'a Credential>,
}

impl Dialled<'_> {
    fn error(&self, class: Class, kind: Kind, what: &str) -> TalosError {
        TalosError::new(
            self.address,
            class,
            kind,
            format!("{} {what}", self.address),
        )
    }

    /// TCP did not connect.
    pub(super) fn tcp(&self, fault: &io::Error) -> TalosError {
        let what = match fault.kind() {
            io::ErrorKind::ConnectionRefused => "refuses connections on port 50000",
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                "cannot be reached: there is no route to it"
            }
            _ => "cannot be reached on port 50000",
        };
        self.error(Class::Unreachable, Kind::Connect, what)
            .with_remote(fault.to_string())
    }

    /// The deadline for connecting passed.
    pub(super) fn deadline(&self, accepted: bool, limit: Duration) -> TalosError {
        let seconds = limit.as_secs_f32();
        if accepted {
            self.error(
                Class::NotReady,
                Kind::Deadline,
                &format!("accepted the connection and said nothing for {seconds} s"),
            )
        } else {
            self.error(
                Class::Unreachable,
                Kind::Deadline,
                &format!("does not answer on port 50000: no connection within {seconds} s"),
            )
        }
    }

    /// The node ended the connection each time and never said why.
    pub(super) fn silent(&self, fault: Option<&io::Error>) -> TalosError {
        self.error(
            Class::Unreachable,
            Kind::Closed,
            "closes every connection right after the TLS handshake without a reason: it may be stopping",
        )
        .with_remote(fault.map(ToString::to_string).unwrap_or_default())
    }

    /// A handshake without a certificate, which rustls does not let happen.
    pub(super) fn no_leaf(&self) -> TalosError {
        self.error(Class::Refused, Kind::Handshake, "showed no certificate")
    }

    /// TLS failed, on this side or by an alert of the node.
    pub(super) fn handshake(&self, fault: &Error, seen: &SeenLeaf) -> TalosError {
        let error = match fault {
            Error::AlertReceived(alert) => self.alert(*alert, seen),
            Error::InvalidCertificate(reason) => self.certificate(reason, seen),
            Error::PeerIncompatible(_) => self.error(
                Class::Refused,
                Kind::Handshake,
                "does not speak TLS 1.3 as Talos does: it is no Talos machine",
            ),
            _ => self.error(
                Class::Refused,
                Kind::Handshake,
                "does not speak TLS as Talos does on port 50000",
            ),
        };
        error.with_remote(fault.to_string())
    }

    /// The node's certificate was not accepted here.
    fn certificate(&self, reason: &CertificateError, seen: &SeenLeaf) -> TalosError {
        let refused = |kind, what: &str| self.error(Class::Refused, kind, what);
        match reason {
            CertificateError::ApplicationVerificationFailure => refused(
                Kind::PinMismatch,
                "shows another maintenance certificate than the one that was approved",
            ),
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => refused(
                Kind::NodeCertificateTime,
                &format!(
                    "shows a certificate that is not valid now: {}",
                    self.clocks(seen)
                ),
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                refused(
                    Kind::WrongName,
                    "shows a certificate of the right CA for other addresses, not for this one",
                )
            }
            _ if seen.get().is_some_and(|leaf| tls::is_maintenance(leaf)) => refused(
                Kind::Maintenance,
                "is in maintenance mode: it shows a throw-away certificate and carries no configuration",
            ),
            CertificateError::UnknownIssuer | CertificateError::BadSignature => refused(
                Kind::WrongCa,
                "shows a certificate that the CA of these credentials did not sign: it belongs to another cluster",
            ),
            _ => refused(
                Kind::WrongCa,
                "shows a certificate that cannot be verified with the CA of these credentials",
            ),
        }
    }

    /// The node did not accept us.
    fn alert(&self, alert: AlertDescription, seen: &SeenLeaf) -> TalosError {
        let refused = |kind, what: &str| self.error(Class::Refused, kind, what);
        match alert {
            AlertDescription::CertificateRequired => refused(
                Kind::CertificateRequired,
                "wants a client certificate: it is configured already",
            ),
            AlertDescription::UnknownCA => refused(
                Kind::ClientCa,
                "does not accept the client certificate: it trusts another CA",
            ),
            AlertDescription::CertificateExpired => refused(
                Kind::ClientCertificateTime,
                &format!(
                    "says that the client certificate is not valid now: {}",
                    self.clocks(seen)
                ),
            ),
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError => refused(
                Kind::ClientCertificate,
                "does not accept the client certificate (its use or its signature)",
            ),
            AlertDescription::InternalError | AlertDescription::UserCanceled => self.error(
                Class::NotReady,
                Kind::Handshake,
                "broke the TLS handshake off with an internal error",
            ),
            _ => refused(Kind::Handshake, "refuses the TLS handshake"),
        }
    }

    /// The clocks, as far as they can be known: ours, the span of the client certificate, and of the node's leaf,
    /// which it makes itself and so dates by its own clock (FAULTS 28).
    fn clocks(&self, seen: &SeenLeaf) -> String {
        let mut parts = vec![format!("the clock here is at {}", second(self.now))];
        if let Some(credential) = self.credential {
            parts.push(format!(
                "the client certificate is valid from {} to {}",
                second(credential.not_before()),
                second(credential.not_after())
            ));
        }
        if let Some((from, to)) = seen.get().and_then(|leaf| tls::validity(leaf)) {
            parts.push(format!(
                "the node dated its own certificate from {} to {}",
                second(from),
                second(to)
            ));
        }
        format!("{}; compare the clocks (talosctl time)", parts.join(", "))
    }
}

fn second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
