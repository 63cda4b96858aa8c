//! The class of a failed call.

use crate::error::{Class, Kind, Outcome, TalosError};
use std::net::IpAddr;
use tonic::{Code, Status};

#[cfg(test)]
mod tests;

/// A failed call: where, which method, and what tonic made of it.
pub(crate) fn status(address: IpAddr, method: &str, status: &Status) -> TalosError {
    let verdict = match transport(status) {
        Some(verdict) => verdict,
        None => answer(status.code(), status.message()),
    };
    let summary = format!("{address} {} ({method})", verdict.what);
    let error = TalosError::new(address, verdict.class, verdict.kind, summary)
        .with_remote(format!("{:?}: {}", status.code(), status.message()));
    match verdict.outcome {
        Outcome::NotCarriedOut => error,
        Outcome::Unknown => error.outcome_unknown(),
    }
}

/// The lease is over.
pub(crate) fn lease_lost(address: IpAddr) -> TalosError {
    TalosError::new(
        address,
        Class::NotReady,
        Kind::LeaseLost,
        format!("{address} is not asked: the lease of this controller is over"),
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    class: Class,
    kind: Kind,
    outcome: Outcome,
    what: &'static str,
}

const fn verdict(class: Class, kind: Kind, outcome: Outcome, what: &'static str) -> Verdict {
    Verdict {
        class,
        kind,
        outcome,
        what,
    }
}

/// A failure of the connection itself, not an answer of the node: tonic gives those a source.
fn transport(status: &Status) -> Option<Verdict> {
    let mut source = std::error::Error::source(status);
    source?;
    let mut sent = true;
    while let Some(error) = source {
        if let Some(fault) = error.downcast_ref::<crate::connection::WireError>() {
            sent = fault.was_sent();
        }
        source = error.source();
    }
    let outcome = if sent {
        Outcome::Unknown
    } else {
        Outcome::NotCarriedOut
    };
    Some(verdict(
        Class::Unreachable,
        Kind::Closed,
        outcome,
        "closed the connection",
    ))
}

/// An answer of the node. Codes decide; texts are read only where `talos-api.md` shows one code for two
/// different things.
fn answer(code: Code, text: &str) -> Verdict {
    use Outcome::{NotCarriedOut, Unknown};
    match code {
        Code::PermissionDenied if text.contains("is not supported") => verdict(
            Class::Invalid,
            Kind::Unsupported,
            NotCarriedOut,
            "does not know that type of resource",
        ),
        Code::PermissionDenied | Code::Unauthenticated => verdict(
            Class::Refused,
            Kind::Role,
            NotCarriedOut,
            "does not allow that with the role of these credentials",
        ),
        Code::Unimplemented => verdict(
            Class::Invalid,
            Kind::Unsupported,
            NotCarriedOut,
            "does not offer that: its version or its role does not have it",
        ),
        Code::InvalidArgument | Code::OutOfRange => verdict(
            Class::Invalid,
            Kind::Answer,
            NotCarriedOut,
            "does not accept the request",
        ),
        Code::NotFound => verdict(
            Class::Gone,
            Kind::Answer,
            NotCarriedOut,
            "does not have what was asked for",
        ),
        Code::AlreadyExists => verdict(
            Class::Invalid,
            Kind::Answer,
            NotCarriedOut,
            "has done that already",
        ),
        Code::FailedPrecondition if text.contains("already in progress") => verdict(
            Class::Busy,
            Kind::Answer,
            NotCarriedOut,
            "is busy with another request of that kind",
        ),
        Code::FailedPrecondition if text.contains("is not supported") => verdict(
            Class::Invalid,
            Kind::Unsupported,
            NotCarriedOut,
            "does not offer that on its platform",
        ),
        Code::FailedPrecondition => verdict(
            Class::NotReady,
            Kind::Answer,
            NotCarriedOut,
            "cannot do that yet",
        ),
        Code::ResourceExhausted | Code::Aborted => {
            verdict(Class::Busy, Kind::Answer, Unknown, "is too busy")
        }
        Code::DeadlineExceeded | Code::Cancelled => verdict(
            Class::NotReady,
            Kind::Deadline,
            Unknown,
            "did not finish in time",
        ),
        Code::Unavailable => verdict(
            Class::NotReady,
            Kind::Answer,
            Unknown,
            "is not ready for that: it is starting or stopping",
        ),
        Code::Unknown => unknown(text),
        Code::Internal | Code::DataLoss | Code::Ok => {
            verdict(Class::NotReady, Kind::Answer, Unknown, "failed internally")
        }
    }
}

/// Talos wraps the errors of its handlers in no code: validation of a reset, etcd without quorum, ended streams.
fn unknown(text: &str) -> Verdict {
    const VALIDATION: [&str; 4] = [
        "reset user disk failed",
        "reset failed: invalid input",
        "failed to get volume status with label",
        "failed to reset: volume",
    ];
    if VALIDATION.iter().any(|known| text.starts_with(known))
        || text.contains("system disk paths lookup failed")
    {
        return verdict(
            Class::Invalid,
            Kind::Answer,
            Outcome::NotCarriedOut,
            "does not accept the request",
        );
    }
    if text.contains("etcdserver:") {
        return verdict(
            Class::NotReady,
            Kind::Answer,
            Outcome::Unknown,
            "was let down by etcd, which has no quorum or refuses the change",
        );
    }
    verdict(
        Class::NotReady,
        Kind::Answer,
        Outcome::Unknown,
        "failed without saying how",
    )
}
