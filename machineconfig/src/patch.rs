//! A patch: a strategic merge patch of one or more documents, or a JSON patch (RFC 6902).

use crate::Error;
use crate::config::{Config, Document, Id};
use crate::delete::{self, Delete};
use crate::merge::merge;
use crate::schema::{self, Type};
use crate::yaml::{self, Data, Node};
use json_patch::{PatchOperation, ReplaceOperation};
use serde_json::Value;

/// A patch that was read. What it is applied to decides whether it can be.
#[derive(Clone)]
pub struct Patch(Form);

#[derive(Clone)]
enum Form {
    Merge(Vec<Step>),
    Json(Vec<PatchOperation>),
}

/// One step of a strategic merge patch.
#[derive(Clone)]
enum Step {
    Merge(Document),
    /// The version and kind may be ones that are not known: a document can be deleted whatever it is.
    Delete(Id, Delete),
}

impl Patch {
    /// Reads a patch: YAML or JSON, and a list is a JSON patch. Fields and types are checked here.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut nodes = yaml::parse(text)?;
        nodes.retain(|node| !node.is_null());
        if let [
            Node {
                data: Data::List(items),
                ..
            },
        ] = nodes.as_slice()
        {
            return operations(items);
        }
        let mut steps = Vec::new();
        for mut node in nodes {
            let written = match node.data {
                Data::Map(_) => node.clone(),
                _ => return Err(Error::NotADocument { line: node.line }),
            };
            let (deletes, rest) = delete::take(&mut node)?;
            for delete in deletes {
                steps.push(Step::Delete(target(&written, &delete)?, delete));
            }
            if rest {
                steps.push(Step::Merge(Document::read_known(&node)?));
            }
        }
        if steps.is_empty() {
            return Err(Error::EmptyPatch);
        }
        // Talos puts the main document first; deletes in it come where they are written.
        steps.sort_by_key(|step| !matches!(step, Step::Merge(document) if document.id.is_main()));
        Ok(Self(Form::Merge(steps)))
    }

    /// Applies the patch to a configuration.
    pub fn apply(&self, config: &Config) -> Result<Config, Error> {
        match &self.0 {
            Form::Merge(steps) => {
                let mut documents = config.documents.clone();
                for step in steps {
                    take_step(step, &mut documents)?;
                }
                Config::new(documents)
            }
            Form::Json(operations) => apply_operations(operations, config),
        }
    }
}

/// The document that a delete is about.
fn target(document: &Node, delete: &Delete) -> Result<Id, Error> {
    match Id::of(document) {
        Ok(id) if !id.is_main() => Ok(id),
        // Without a kind it is the main document, which cannot be deleted whole.
        Ok(_) | Err(Error::NoKind { .. }) if delete.is_whole() => Err(Error::BadDelete {
            path: "the top of the document".to_owned(),
            line: document.line,
            reason: "the document with machine and cluster cannot be deleted; to delete another one, name it by apiVersion, kind and name",
        }),
        other => other,
    }
}

fn take_step(step: &Step, documents: &mut Vec<Document>) -> Result<(), Error> {
    let id = match step {
        Step::Merge(document) => &document.id,
        Step::Delete(id, _) => id,
    };
    let position = documents.iter().position(|it| it.id == *id);
    match (step, position) {
        (Step::Merge(document), None) => documents.push(document.clone()),
        (Step::Merge(document), Some(at)) => {
            if let (Some(old), Some(kind)) = (documents.get_mut(at), schema::kind(&id.kind)) {
                let (left, right) = (old.value.take(), document.value.clone());
                let merged = merge(&kind.ty, Some(left), Some(right), false, &id.prefix())?;
                old.value = merged.unwrap_or_default();
            }
        }
        // Deleting from a document that is not there changes nothing.
        (Step::Delete(..), None) => {}
        (Step::Delete(_, delete), Some(at)) if delete.is_whole() => {
            documents.remove(at);
        }
        (Step::Delete(id, delete), Some(at)) => {
            if let Some(old) = documents.get_mut(at) {
                let ty = schema::kind(&id.kind).map_or(&Type::Any, |it| &it.ty);
                delete.apply(ty, &mut old.value, &id.prefix())?;
            }
        }
    }
    Ok(())
}

fn operations(items: &[Node]) -> Result<Patch, Error> {
    if items.is_empty() {
        return Err(Error::EmptyPatch);
    }
    let numbered = items.iter().zip(1..);
    let read = numbered.map(|(item, number)| {
        serde_json::from_value(item.to_value()).map_err(|_| Error::BadOperation { number })
    });
    let operations = read.collect::<Result<_, _>>()?;
    Ok(Patch(Form::Json(operations)))
}

fn apply_operations(operations: &[PatchOperation], config: &Config) -> Result<Config, Error> {
    let [document] = config.documents.as_slice() else {
        return Err(Error::JsonPatchOnDocuments {
            documents: config.documents.len(),
        });
    };
    let mut value = document.value.clone();
    for (operation, number) in operations.iter().zip(1..) {
        // One by one, so that the error can say which.
        carry_out(operation, &mut value).map_err(|reason| Error::Operation {
            number,
            path: operation.path().to_string(),
            reason,
        })?;
    }
    let node = Node::from_value(&value);
    Config::new(vec![Document::read_known(&node)?])
}

fn carry_out(operation: &PatchOperation, value: &mut Value) -> Result<(), &'static str> {
    // Talos lets replace add a field to a map that is there, though RFC 6902 does not.
    if let PatchOperation::Replace(ReplaceOperation { path, value: new }) = operation
        && let Some((parent, field)) = path.split_back()
        && let Ok(Value::Object(fields)) = parent.resolve_mut(value)
    {
        fields.insert(field.decoded().into_owned(), new.clone());
        return Ok(());
    }
    json_patch::patch(value, std::slice::from_ref(operation)).map_err(|fault| match fault.kind {
        json_patch::PatchErrorKind::TestFailed => "the value there is not the one tested for",
        json_patch::PatchErrorKind::InvalidFromPointer => {
            "there is nothing at the path that from names"
        }
        json_patch::PatchErrorKind::InvalidPointer => {
            "there is nothing there, or what it stands in is missing; add that first, or correct the path"
        }
        _ => "a value cannot be moved into itself",
    })
}
