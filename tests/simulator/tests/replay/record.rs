//! The recordings as read from their files.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Call(Box<Call>),
    Tls(Tls),
    Timeline(Observation),
}

/// One recorded call.
#[derive(Clone, Debug, Deserialize)]
pub struct Call {
    pub n: u64,
    pub state: String,
    pub run: Option<String>,
    #[serde(default)]
    pub t_ms: u64,
    pub caller: String,
    pub target: String,
    pub service: String,
    pub method: String,
    #[serde(default)]
    pub request: Value,
    pub request_data_file: Option<String>,
    pub request_data_text: Option<String>,
    #[serde(default)]
    pub metadata: Value,
    pub code: String,
    #[serde(default)]
    pub message: String,
    pub response: Option<Value>,
    pub stream_count: Option<usize>,
    #[serde(default)]
    pub trimmed: Value,
    #[serde(default)]
    pub deadline_hit: bool,
    #[serde(default)]
    pub note: Option<String>,
}

/// Ten tries with fresh connections.
#[derive(Clone, Debug, Deserialize)]
pub struct Tls {
    pub n: u64,
    pub caller: String,
    pub target: String,
    pub grpc_outcomes: Vec<GrpcOutcome>,
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct GrpcOutcome {
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// A change seen by a probe.
#[derive(Clone, Debug, Deserialize)]
pub struct Observation {
    pub run: String,
    pub probe: String,
    #[serde(default)]
    pub target: String,
    pub outcome: Value,
}

impl Call {
    /// `package.Service/Method`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.service, self.method)
    }

    /// COSI type of the request.
    pub fn resource(&self) -> &str {
        self.request["type"].as_str().unwrap_or_default()
    }

    /// The last number of the target's address: which node.
    pub fn host(&self) -> u8 {
        host(&self.target)
    }

    /// Refused by the role check.
    pub fn denied(&self) -> bool {
        self.code == "PermissionDenied" && self.message == "not authorized"
    }
}

/// The last number of `10.5.0.N:50000`.
pub fn host(target: &str) -> u8 {
    target
        .split(':')
        .next()
        .unwrap()
        .rsplit('.')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// A recorded input file.
pub fn input(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// The lines of one recording.
pub fn read(file: &str) -> Vec<Line> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{file}: line {}: {error}", index + 1))
    };
    text.lines().enumerate().map(parse).collect()
}
