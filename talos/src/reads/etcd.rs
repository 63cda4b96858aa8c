//! The members of etcd. Every call may hang until its deadline: where etcd does not run, Talos waits for it
//! (`talos-api.md` section 5).

use crate::connection::Connection;
use crate::error::TalosError;
use crate::model::{EtcdMember, EtcdStatus};
use crate::proto::machine::EtcdMemberListRequest;
use crate::proto::specs;
use crate::resource::Type;

const LOCAL_MEMBER: Type = Type {
    namespace: "etcd",
    name: "EtcdMembers.etcd.talos.dev",
};

impl Connection {
    /// The members as the node's etcd knows them, asked of a quorum.
    pub async fn etcd_members(&self) -> Result<Vec<EtcdMember>, TalosError> {
        let mut machine = self.machine();
        let request = EtcdMemberListRequest { query_local: false };
        let answer = self
            .call("EtcdMemberList", self.usual(), async {
                machine.etcd_member_list(request).await
            })
            .await?;
        let message = self.single("EtcdMemberList", answer.into_inner().messages)?;
        Ok(message
            .members
            .into_iter()
            .map(|member| EtcdMember {
                id: member.id,
                hostname: member.hostname,
                peer_urls: member.peer_urls,
                learner: member.is_learner,
            })
            .collect())
    }

    /// The state of the node's own member.
    pub async fn etcd_status(&self) -> Result<EtcdStatus, TalosError> {
        let mut machine = self.machine();
        let answer = self
            .call("EtcdStatus", self.usual(), async {
                machine.etcd_status(()).await
            })
            .await?;
        let message = self.single("EtcdStatus", answer.into_inner().messages)?;
        let status = message
            .member_status
            .ok_or_else(|| self.garbled("EtcdStatus"))?;
        Ok(EtcdStatus {
            member_id: status.member_id,
            leader: status.leader,
            errors: status.errors.len(),
            learner: status.is_learner,
        })
    }

    /// The ID of the node's own member; `None` where it has none.
    pub async fn etcd_local_member_id(&self) -> Result<Option<u64>, TalosError> {
        let spec: Option<specs::EtcdMember> = self.get(LOCAL_MEMBER, "local").await?;
        Ok(spec.and_then(|spec| u64::from_str_radix(spec.member_id.trim(), 16).ok()))
    }
}
