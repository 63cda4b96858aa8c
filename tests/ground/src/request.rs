//! A MachineReclaim as a person makes and follows it, through kubectl.

use crate::controller::NAMESPACE;
use crate::kubectl::{Kubectl, Said};
use crate::wait::{PATIENCE, within};
use anyhow::{Context, Result, ensure};
use ichor_crds::{MachineReclaim, MachineReclaimStatus, ReclaimInspection, ReclaimPhase};
use serde_json::{Value, json};

/// A MachineReclaim of some person.
#[derive(Clone, Debug)]
pub struct Request {
    kubectl: Kubectl,
    /// Its name.
    pub name: String,
}

impl Request {
    /// Asks for the machine at `address` with the credentials of `cluster`; fails where that is refused.
    pub async fn create(kubectl: &Kubectl, address: impl ToString, cluster: &str) -> Result<Self> {
        let spec = json!({"address": address.to_string(), "clusterRef": {"name": cluster}, "clusterCredentials": true});
        Self::of_spec(kubectl, &spec).await
    }

    /// Asks with any spec; fails where that is refused.
    pub async fn of_spec(kubectl: &Kubectl, spec: &Value) -> Result<Self> {
        let said = Self::try_create(kubectl, spec).await?;
        ensure!(said.ok, "the request was refused: {}", said.err);
        let name = said
            .out
            .trim()
            .rsplit('/')
            .next()
            .context("no name printed")?;
        Ok(Self {
            kubectl: kubectl.clone(),
            name: name.to_owned(),
        })
    }

    /// The request of a name, for whoever created it otherwise.
    pub fn named(kubectl: &Kubectl, name: &str) -> Self {
        Self {
            kubectl: kubectl.clone(),
            name: name.to_owned(),
        }
    }

    /// Asks with any spec, whatever comes of it.
    pub async fn try_create(kubectl: &Kubectl, spec: &Value) -> Result<Said> {
        let object = json!({
            "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
            "metadata": {"generateName": "ground-", "namespace": NAMESPACE}, "spec": spec,
        });
        kubectl
            .pipe(&["create", "-o", "name", "-f", "-"], &object.to_string())
            .await
    }

    /// The object as it is now.
    pub async fn get(&self) -> Result<MachineReclaim> {
        let text = self
            .kubectl
            .run(&[
                "get",
                "machinereclaim",
                &self.name,
                "-n",
                NAMESPACE,
                "-o",
                "json",
            ])
            .await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Its status as it is now; empty before the first.
    pub async fn status(&self) -> Result<MachineReclaimStatus> {
        Ok(self.get().await?.status.unwrap_or_default())
    }

    /// Waits for a phase and gives the status; fails at once when another final phase is reached.
    pub async fn reaches(&self, phase: ReclaimPhase) -> Result<MachineReclaimStatus> {
        let ended = within(
            PATIENCE,
            &format!("{} to be {phase:?}", self.name),
            async || {
                let status = self.status().await?;
                let now = status.phase;
                Ok((now == phase || now.is_final()).then_some(status))
            },
        )
        .await;
        let status = match ended {
            Ok(status) => status,
            Err(error) => return Err(error.context(format!("it is {:?}", self.status().await))),
        };
        ensure!(
            status.phase == phase,
            "{} became {:?}, not {phase:?}: {status:?}",
            self.name,
            status.phase
        );
        Ok(status)
    }

    /// Waits for the inspection and gives it.
    pub async fn inspected(&self) -> Result<ReclaimInspection> {
        let status = self.reaches(ReclaimPhase::AwaitingConfirmation).await?;
        status.inspection.context("an inspection")
    }

    /// Waits until the status satisfies `wanted`.
    pub async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&MachineReclaimStatus) -> bool,
    ) -> Result<MachineReclaimStatus> {
        let ended = within(PATIENCE, what, async || {
            let status = self.status().await?;
            Ok(wanted(&status).then_some(status))
        })
        .await;
        match ended {
            Ok(status) => Ok(status),
            Err(error) => Err(error.context(format!("the status is {:?}", self.status().await))),
        }
    }

    /// Merges `spec` into the spec, whatever comes of it.
    pub async fn patch(&self, spec: Value) -> Result<Said> {
        let change = json!({"spec": spec});
        self.kubectl
            .merge("machinereclaim", &self.name, &change, &[])
            .await
    }

    /// Types the UUID; fails where that is refused.
    pub async fn confirm(&self, uuid: &str) -> Result<()> {
        let said = self.patch(json!({"confirmUUID": uuid})).await?;
        ensure!(said.ok, "the UUID was refused: {}", said.err);
        Ok(())
    }

    /// Types the UUID once the machine is inspected, and waits until it is done.
    pub async fn confirm_and_finish(&self, uuid: &str) -> Result<MachineReclaimStatus> {
        self.inspected().await?;
        self.confirm(uuid).await?;
        self.reaches(ReclaimPhase::Done).await
    }
}

/// Whether a condition of this type is `True`, with this reason.
pub fn has_condition(status: &MachineReclaimStatus, kind: &str, reason: &str) -> bool {
    status
        .conditions
        .iter()
        .any(|c| c.type_ == kind && c.status == "True" && c.reason == reason)
}
