//! How a machine is reached: its link, addresses and routes.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Link and addresses of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(has(self.addressing) && self.addressing == 'static') == (has(self.addresses) && size(self.addresses) > 0)").message("addressing: static needs addresses, and only static addressing has them"))]
pub struct MachineNetwork {
    /// Link to configure, by its permanent MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5,19}$')").message("must be a MAC address such as 02:00:0a:05:00:07, one of spec.identity.macs"))]
    pub interface: Option<String>,
    /// How the link gets its address: dhcp4 (default) or static.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachineAddressing")]
    pub addressing: Option<MachineAddressing>,
    /// Static addresses in CIDR notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = Rule::new("self.all(a, isCIDR(a))").message("must be addresses with their prefix length, such as 10.5.0.7/24"))]
    pub addresses: Vec<String>,
    /// Static routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub routes: Vec<Route>,
}

/// How a link gets its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MachineAddressing {
    /// From a DHCP server.
    Dhcp4,
    /// From the addresses and routes given.
    Static,
}

/// A static route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Destination network; absent for the default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("isCIDR(self)").message("must be a network such as 10.6.0.0/16"))]
    pub network: Option<String>,
    /// Gateway.
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("isIP(self)").message("must be an IP address such as 10.5.0.1"))]
    pub gateway: String,
}
