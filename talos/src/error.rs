//! What can go wrong with a node, by class.

use std::fmt;
use std::net::IpAddr;

/// How a failure is to be treated; callers choose by it, never by text (DESIGN section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Nothing answers at the address, or the connection broke.
    Unreachable,
    /// Something answers and cannot do it now: starting, stopping, hanging, without quorum. Time may fix it.
    NotReady,
    /// Certificates or roles do not allow it. Trying again does not help.
    Refused,
    /// The request is not one this node can carry out. Trying again does not help.
    Invalid,
    /// Another action of the same kind is under way.
    Busy,
    /// What was asked about is not there.
    Gone,
}

impl Class {
    /// How a call ended, as metrics and traces name it: `ok` without an error.
    pub fn name(error: Option<Self>) -> &'static str {
        match error {
            None => "ok",
            Some(Self::Unreachable) => "unreachable",
            Some(Self::NotReady) => "not_ready",
            Some(Self::Refused) => "refused",
            Some(Self::Invalid) => "invalid",
            Some(Self::Busy) => "busy",
            Some(Self::Gone) => "gone",
        }
    }
}

/// What went wrong, more closely than the class says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The address is loopback, link-local or multicast, which are not dialled here.
    LocalAddress,
    /// No TCP connection.
    Connect,
    /// The connection broke.
    Closed,
    /// A deadline passed.
    Deadline,
    /// The lease of this process is over; nothing was sent.
    LeaseLost,
    /// The node's certificate is of another CA.
    WrongCa,
    /// The machine is in maintenance mode: its certificate is a throw-away one.
    Maintenance,
    /// The node's certificate is not for the address that was dialled.
    WrongName,
    /// The node's certificate is not valid by this clock.
    NodeCertificateTime,
    /// The maintenance certificate is not the pinned one.
    PinMismatch,
    /// The node wants a client certificate: it is configured.
    CertificateRequired,
    /// The node does not accept the client certificate's CA.
    ClientCa,
    /// The node does not accept the client certificate itself.
    ClientCertificate,
    /// The client certificate is not valid by the node's clock.
    ClientCertificateTime,
    /// The TLS handshake failed for another reason.
    Handshake,
    /// The role of the client certificate does not allow the call.
    Role,
    /// The node does not know the method or the resource type, or only other nodes have it.
    Unsupported,
    /// The node answered with another error.
    Answer,
    /// The answer could not be understood.
    Garbled,
}

/// Whether a request that failed may have had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It provably had none: it was not sent, or the node refused it (DESIGN section 18, decision 4).
    NotCarriedOut,
    /// It may have been carried out: the answer was lost.
    Unknown,
}

/// A failure at one node. `Display` is in Ichor's own words and fit for a status; what the node said is only in
/// [`TalosError::remote_text`] and `Debug`, for debug logs.
#[derive(Clone, Debug)]
pub struct TalosError(Box<Fields>);

#[derive(Clone, Debug)]
struct Fields {
    class: Class,
    kind: Kind,
    outcome: Outcome,
    address: IpAddr,
    summary: String,
    remote: Option<String>,
}

impl TalosError {
    /// A failure before anything was sent, or one that shows that nothing was done.
    pub(crate) fn new(
        address: IpAddr,
        class: Class,
        kind: Kind,
        summary: impl Into<String>,
    ) -> Self {
        Self(Box::new(Fields {
            class,
            kind,
            outcome: Outcome::NotCarriedOut,
            address,
            summary: summary.into(),
            remote: None,
        }))
    }

    pub(crate) fn outcome_unknown(mut self) -> Self {
        self.0.outcome = Outcome::Unknown;
        self
    }

    pub(crate) fn with_remote(mut self, text: impl Into<String>) -> Self {
        self.0.remote = Some(text.into());
        self
    }

    /// How to treat it.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Whether the request may have been carried out.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The node.
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// What happened, in Ichor's own words.
    pub fn summary(&self) -> &str {
        &self.0.summary
    }

    /// What the node or the operating system said. For debug logs only: a node may say anything.
    pub fn remote_text(&self) -> Option<&str> {
        self.0.remote.as_deref()
    }
}

impl fmt::Display for TalosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.summary)
    }
}

impl std::error::Error for TalosError {}
