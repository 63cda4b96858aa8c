//! One rule: what it refuses and what it lets pass.

use crate::ground::{Ground, example};
use anyhow::{Context, Result, bail, ensure};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// An example changed so that a rule refuses it, and changed so that the rule lets it pass. Changes are merge patches
/// of the spec.
pub struct Case {
    example: &'static str,
    message: &'static str,
    refused: Value,
    accepted: Value,
    stored: Option<Stored>,
    name: Option<String>,
}

/// What is there before the change.
struct Stored {
    spec: Value,
    status: Value,
}

/// Creating `example` with the change `refused` draws `message`; with `accepted` it passes.
pub fn rule(example: &'static str, message: &'static str, refused: Value, accepted: Value) -> Case {
    Case {
        example,
        message,
        refused,
        accepted,
        stored: None,
        name: None,
    }
}

impl Case {
    /// The changes are made to a stored object: the example, then changed by `spec`, and with `status`.
    pub fn of_stored(mut self, spec: Value, status: Value) -> Self {
        self.stored = Some(Stored { spec, status });
        self
    }

    /// What is refused is called `name`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tries both, and gives the rule that was shown: its kind and message.
    pub async fn judge(&self, ground: &Ground, number: usize) -> Result<Vec<(String, String)>> {
        let what = || format!("{} {}", self.example, self.message);
        let example = example(self.example)?;
        let kind = example.types.as_ref().context("a kind")?.kind.clone();
        let attempt = match &self.stored {
            Some(stored) => {
                let name = self.store(ground, &kind, example, stored, number).await;
                Attempt::Change(name.with_context(what)?)
            }
            None => Attempt::Create(Box::new(example)),
        };
        let refused = attempt
            .make(ground, &kind, &self.refused, self.name.as_deref())
            .await;
        let Err(kube::Error::Api(said)) = refused else {
            bail!("{}: wanted a refusal, got {refused:?}", what());
        };
        ensure!(
            said.message.contains(self.message),
            "{}: refused with {}",
            what(),
            said.message
        );
        attempt
            .make(ground, &kind, &self.accepted, None)
            .await
            .with_context(what)?;
        Ok(vec![(kind, self.message.to_owned())])
    }

    async fn store(
        &self,
        ground: &Ground,
        kind: &str,
        mut object: DynamicObject,
        stored: &Stored,
        number: usize,
    ) -> Result<String> {
        let name = if kind == "TalosMachine" {
            let uuid = format!("4c4c4544-0042-3510-8052-{number:012x}");
            object.data["spec"]["identity"]["uuid"] = json!(uuid);
            uuid
        } else {
            format!("case-{number}")
        };
        object.metadata.name = Some(name.clone());
        let api = ground.api(kind);
        api.create(&PostParams::default(), &object).await?;
        let spec = Patch::Merge(json!({"spec": stored.spec}));
        api.patch(&name, &PatchParams::default(), &spec).await?;
        if !stored.status.is_null() {
            let status = Patch::Merge(json!({"status": stored.status}));
            api.patch_status(&name, &PatchParams::default(), &status)
                .await?;
        }
        Ok(name)
    }
}

enum Attempt {
    Create(Box<DynamicObject>),
    Change(String),
}

impl Attempt {
    /// Asks the API server without storing anything.
    async fn make(
        &self,
        ground: &Ground,
        kind: &str,
        change: &Value,
        name: Option<&str>,
    ) -> Result<(), kube::Error> {
        let api = ground.api(kind);
        match self {
            Self::Create(example) => {
                let mut object = example.as_ref().clone();
                merge(&mut object.data["spec"], change);
                if let Some(name) = name {
                    object.metadata.name = Some(name.to_owned());
                }
                let dry_run = PostParams {
                    dry_run: true,
                    ..PostParams::default()
                };
                api.create(&dry_run, &object).await.map(drop)
            }
            Self::Change(stored) => {
                let dry_run = PatchParams {
                    dry_run: true,
                    ..PatchParams::default()
                };
                let patch = Patch::Merge(json!({"spec": change}));
                api.patch(stored, &dry_run, &patch).await.map(drop)
            }
        }
    }
}

/// A JSON merge patch (RFC 7386).
fn merge(value: &mut Value, change: &Value) {
    let Value::Object(changes) = change else {
        *value = change.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            if let Some(fields) = value.as_object_mut() {
                fields.remove(key);
            }
        } else {
            merge(&mut value[key], change);
        }
    }
}
