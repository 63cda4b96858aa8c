//! The answers that `talos-api.md` shows, and the class of each.

use super::*;
use Class::{Busy, Gone, Invalid, NotReady, Refused};
use Outcome::{NotCarriedOut, Unknown};

const OBSERVED: [(Code, &str, Class, Outcome); 23] = [
    (
        Code::PermissionDenied,
        "not authorized",
        Refused,
        NotCarriedOut,
    ),
    (
        Code::PermissionDenied,
        "no request forwarding",
        Refused,
        NotCarriedOut,
    ),
    (
        Code::PermissionDenied,
        "resource type \"X\" is not supported",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::PermissionDenied,
        "namespace \"x\" is not supported",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::Unimplemented,
        "member list is only available on control plane nodes",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::NotFound,
        "resource BootIDs doesn't exist",
        Gone,
        NotCarriedOut,
    ),
    (
        Code::NotFound,
        "failed to remove member 1: etcdserver: member not found",
        Gone,
        NotCarriedOut,
    ),
    (
        Code::InvalidArgument,
        "config not found",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::AlreadyExists,
        "etcd data directory is not empty",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::FailedPrecondition,
        "another apply configuration is already in progress",
        Busy,
        NotCarriedOut,
    ),
    (
        Code::FailedPrecondition,
        "bootstrap is not available yet",
        NotReady,
        NotCarriedOut,
    ),
    (
        Code::FailedPrecondition,
        "method is not supported in container mode",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::Unavailable,
        "connection error: desc = \"transport: Error while dialing: dial unix machine.sock\"",
        NotReady,
        Unknown,
    ),
    (
        Code::DeadlineExceeded,
        "context deadline exceeded",
        NotReady,
        Unknown,
    ),
    (Code::Unknown, "etcdserver: no leader", NotReady, Unknown),
    (
        Code::Unknown,
        "failed to remove member: failed to remove member 7: etcdserver: no leader",
        NotReady,
        Unknown,
    ),
    (
        Code::Unknown,
        "failed to leave cluster: 1 error(s) occurred:\n\tfailed to remove member 7: etcdserver: re-configuration failed due to not enough started members",
        NotReady,
        Unknown,
    ),
    (
        Code::Unknown,
        "reset user disk failed: device /dev/nope wasn't found",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::Unknown,
        "failed to get volume status with label \"NOPE\": resource doesn't exist",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::Unknown,
        "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe",
        Invalid,
        NotCarriedOut,
    ),
    (
        Code::Unknown,
        "failed to reset: volume \"STATE\" is not located and doesn't reside on another volume",
        Invalid,
        NotCarriedOut,
    ),
    (Code::Unknown, "EOF", NotReady, Unknown),
    (
        Code::Internal,
        "invalid target \"10.5.0.2:50000\"",
        NotReady,
        Unknown,
    ),
];

#[test]
fn answers_are_classed_as_observed() {
    for (code, text, class, outcome) in OBSERVED {
        let error = status(
            "10.5.0.2".parse().expect("address"),
            "Reset",
            &Status::new(code, text),
        );
        assert_eq!(
            (error.class(), error.outcome()),
            (class, outcome),
            "{code:?} {text}"
        );
        assert!(!error.to_string().contains(text), "{error}");
    }
}

/// What tonic makes of a connection that broke has a source; a node can send the same code without one.
#[test]
fn a_broken_connection_is_no_answer() {
    let broken = Status::from_error(Box::new(std::io::Error::from(
        std::io::ErrorKind::BrokenPipe,
    )));
    let error = status("10.5.0.2".parse().expect("address"), "Reset", &broken);
    assert_eq!(
        (error.class(), error.kind(), error.outcome()),
        (Class::Unreachable, Kind::Closed, Unknown)
    );
}
