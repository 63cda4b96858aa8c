//! A patch: a strategic merge patch of one or more documents, or a JSON patch (RFC 6902).

mod operations;

use crate::Error;
use crate::config::{Config, Document, Id};
use crate::delete::{self, Delete};
use crate::merge::merge;
use crate::schema::{self, Type};
use crate::yaml::{self, Data, Node};
use operations::Operations;

/// A patch that was read. What it is applied to decides whether it can be.
#[derive(Clone)]
pub struct Patch(Form);

#[derive(Clone)]
enum Form {
    Merge(Vec<Step>),
    Json(Operations),
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
            return Ok(Self(Form::Json(Operations::read(items)?)));
        }
        let mut steps = Vec::new();
        for mut node in nodes {
            if !matches!(node.data, Data::Map(_)) {
                return Err(Error::NotADocument { line: node.line });
            }
            // Which document it is about is said beside the deletes, and goes with them.
            let id = Id::of(&node);
            let (deletes, rest) = delete::take(&mut node)?;
            for delete in deletes {
                steps.push(Step::Delete(target(&id, &delete, node.line)?, delete));
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
            Form::Json(operations) => operations.apply(config),
        }
    }
}

/// The document that a delete is about.
fn target(id: &Result<Id, Error>, delete: &Delete, line: usize) -> Result<Id, Error> {
    match id {
        Ok(id) if !id.is_main() => Ok(id.clone()),
        // Without a kind it is the main document, which cannot be deleted whole.
        Ok(_) | Err(Error::NoKind { .. }) if delete.is_whole() => Err(Error::BadDelete {
            path: "the top of the document".to_owned(),
            line,
            reason: "the document with machine and cluster cannot be deleted; to delete another one, name it by apiVersion, kind and name",
        }),
        other => other.clone(),
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
