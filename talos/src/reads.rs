//! What is read of a node.

mod etcd;
mod identity;
mod storage;

pub(crate) use storage::PHASES;

use crate::connection::{Connection, MESSAGE_LIMIT};
use crate::error::TalosError;
use crate::model::{ClusterInfo, MachineStatus, MachineType, Service, Stage, Version};
use crate::proto::common::Data;
use crate::proto::machine::ReadRequest;
use crate::proto::machine::machine_service_client::MachineServiceClient;
use crate::proto::specs;
use crate::resource::Type;
use futures::TryStreamExt;

const CLUSTER_INFO: Type = Type {
    namespace: "cluster",
    name: "Infos.cluster.talos.dev",
};
const MACHINE_TYPE: Type = Type {
    namespace: "config",
    name: "MachineTypes.config.talos.dev",
};
const MACHINE_STATUS: Type = Type {
    namespace: "runtime",
    name: "MachineStatuses.runtime.talos.dev",
};
const BOOT_ID: Type = Type {
    namespace: "runtime",
    name: "BootIDs.runtime.talos.dev",
};
const HOSTNAME: Type = Type {
    namespace: "network",
    name: "HostnameStatuses.net.talos.dev",
};
const NODENAME: Type = Type {
    namespace: "k8s",
    name: "Nodenames.kubernetes.talos.dev",
};
/// Where Linux keeps the boot ID: older Talos has no resource for it.
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";
/// Longest file that is read: a boot ID has 37 bytes.
const FILE_LIMIT: usize = 4096;

impl Connection {
    pub(crate) fn machine(&self) -> MachineServiceClient<crate::connection::Wire> {
        MachineServiceClient::with_origin(self.wire(), self.origin())
            .max_decoding_message_size(MESSAGE_LIMIT)
    }

    /// The cluster whose configuration the node carries; `None` without a configuration.
    pub async fn cluster_info(&self) -> Result<Option<ClusterInfo>, TalosError> {
        let info: Option<specs::ClusterInfo> = self.get(CLUSTER_INFO, "current").await?;
        Ok(info.map(|info| ClusterInfo {
            id: info.cluster_id,
            name: info.cluster_name,
        }))
    }

    /// What the node is configured as.
    pub async fn machine_type(&self) -> Result<MachineType, TalosError> {
        let spec: Option<specs::MachineType> = self.get(MACHINE_TYPE, "machine-type").await?;
        Ok(match spec.map(|spec| spec.machine_type) {
            Some(1 | 2) => MachineType::ControlPlane,
            Some(3) => MachineType::Worker,
            _ => MachineType::Unknown,
        })
    }

    /// Stage and readiness; `None` for the moment in which a starting machine has neither.
    pub async fn machine_status(&self) -> Result<Option<MachineStatus>, TalosError> {
        let spec: Option<specs::MachineStatus> = self.get(MACHINE_STATUS, "machine").await?;
        Ok(spec.map(|spec| {
            let status = spec.status.unwrap_or_default();
            MachineStatus {
                stage: Stage::from_number(spec.stage),
                ready: status.ready,
                unmet: status
                    .unmet_conditions
                    .into_iter()
                    .map(|condition| condition.name)
                    .collect(),
            }
        }))
    }

    /// The stage; [`Stage::Unknown`] where the node has none yet.
    pub async fn stage(&self) -> Result<Stage, TalosError> {
        let status = self.machine_status().await?;
        Ok(status.map(|status| status.stage).unwrap_or_default())
    }

    /// The ID of the running boot. Older Talos gives it only as a file, which takes os:admin; `None` where it
    /// cannot be had.
    pub async fn boot_id(&self) -> Result<Option<String>, TalosError> {
        let spec: Option<specs::BootId> = self.get(BOOT_ID, "boot-id").await?;
        if let Some(spec) = spec {
            return Ok(Some(spec.boot_id.trim().to_owned()).filter(|id| !id.is_empty()));
        }
        match self.read_file(BOOT_ID_FILE).await {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                Ok(Some(text).filter(|id| !id.is_empty()))
            }
            Err(fault) if fault.class() == crate::Class::Refused => Ok(None),
            Err(fault) if fault.class() == crate::Class::Gone => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The host name.
    pub async fn hostname(&self) -> Result<Option<String>, TalosError> {
        let spec: Option<specs::HostnameStatus> = self.get(HOSTNAME, "hostname").await?;
        Ok(spec
            .map(|spec| spec.hostname)
            .filter(|name| !name.is_empty()))
    }

    /// The name of the Kubernetes Node that the kubelet registers.
    pub async fn node_name(&self) -> Result<Option<String>, TalosError> {
        let spec: Option<specs::Nodename> = self.get(NODENAME, "nodename").await?;
        Ok(spec
            .map(|spec| spec.nodename)
            .filter(|name| !name.is_empty()))
    }

    /// The version of Talos.
    pub async fn version(&self) -> Result<Version, TalosError> {
        let mut machine = self.machine();
        let answer = self
            .call("Version", self.usual(), async { machine.version(()).await })
            .await?;
        let message = self.single("Version", answer.into_inner().messages)?;
        let version = message.version.unwrap_or_default();
        Ok(Version {
            tag: version.tag,
            arch: version.arch,
            platform: message
                .platform
                .map(|platform| platform.name)
                .unwrap_or_default(),
        })
    }

    /// The services of Talos.
    pub async fn services(&self) -> Result<Vec<Service>, TalosError> {
        let mut machine = self.machine();
        let answer = self
            .call("ServiceList", self.usual(), async {
                machine.service_list(()).await
            })
            .await?;
        let message = self.single("ServiceList", answer.into_inner().messages)?;
        Ok(message
            .services
            .into_iter()
            .map(|service| Service {
                id: service.id,
                state: service.state,
                healthy: service
                    .health
                    .filter(|health| !health.unknown)
                    .map(|health| health.healthy),
            })
            .collect())
    }

    async fn read_file(&self, path: &str) -> Result<Vec<u8>, TalosError> {
        let request = ReadRequest {
            path: path.to_owned(),
        };
        let mut machine = self.machine();
        self.call("Read", self.usual(), async {
            let mut stream = machine.read(request).await?.into_inner();
            let mut content = Vec::new();
            while let Some(Data { bytes, .. }) = stream.try_next().await? {
                content.extend_from_slice(&bytes);
                if content.len() > FILE_LIMIT {
                    return Err(tonic::Status::data_loss("too long"));
                }
            }
            Ok(content)
        })
        .await
    }

    /// The one message of a reply: more than one would be an answer of other nodes, which nobody asked.
    pub(crate) fn single<M>(&self, what: &str, messages: Vec<M>) -> Result<M, TalosError> {
        let mut messages = messages.into_iter();
        match (messages.next(), messages.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.garbled(what)),
        }
    }
}
