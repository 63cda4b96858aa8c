//! The certificates the recorded callers showed.

use ichor_simulator::pki::{Authority, ClientOptions, Usage};
use serde_json::Value;
use time::OffsetDateTime;

use super::record::input;
use super::scene::Scene;
use crate::support::Caller;

impl Scene {
    /// The certificate a recorded caller showed, and whether it verified the server.
    pub fn caller(&self, kind: &str) -> Caller {
        let now = OffsetDateTime::now_utc();
        let hour = time::Duration::hours(1);
        let mut options = ClientOptions::with_roles(&["os:admin"]);
        let mut ca = Some(self.authority.certificate.clone());
        let mut authority = self.authority.clone();
        match kind {
            "anonymous" | "no-cert" => return Caller::anonymous(),
            "admin-cert" => ca = None,
            "os:admin" | "os:reader" | "os:operator" | "os:etcd:backup" => {
                options = ClientOptions::with_roles(&[kind]);
            }
            "roles-union" => options = ClientOptions::with_roles(&["os:reader", "os:operator"]),
            "no-role" => options = ClientOptions::with_roles(&[]),
            "unknown-role" => options = ClientOptions::with_roles(&["os:nonsense"]),
            "impersonator-only" => options = ClientOptions::with_roles(&["os:impersonator"]),
            "foreign-ca" => authority = self.fleet.secrets("other").unwrap().os_ca().unwrap(),
            "eku-server-only" => options.usages = vec![Usage::Server],
            "eku-server-and-client" | "eku-both" => {
                options.usages = vec![Usage::Server, Usage::Client];
            }
            "eku-none" => options.usages = Vec::new(),
            "expired" => (options.not_before, options.not_after) = (now - hour * 2, now - hour),
            "not-yet-valid" => {
                (options.not_before, options.not_after) = (now + hour, now + hour * 2);
            }
            other => panic!("the recordings name a caller this replay does not know: {other}"),
        }
        Caller::with(&authority.client(&options).unwrap(), ca)
    }

    /// The caller, but trusting only the CA of another cluster.
    pub fn distrusting(&self, kind: &str) -> Caller {
        let other = self.fleet.secrets("other").unwrap().os_ca().unwrap();
        Caller {
            ca: Some(other.certificate),
            ..self.caller(kind)
        }
    }
}

/// The Talos CA of the recorded cluster, from the configuration that was applied there.
pub fn recorded_authority() -> Authority {
    let text = input("inputs/cp.yaml");
    let first = text.split("\n---").next().unwrap();
    let document: Value = serde_saphyr::from_str(first).unwrap();
    let decode = |value: &Value| {
        let bytes = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD,
            value.as_str().unwrap(),
        )
        .unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let ca = &document["machine"]["ca"];
    Authority {
        certificate: decode(&ca["crt"]),
        key: decode(&ca["key"]),
    }
}
