//! A machine configuration: its documents.

use crate::decode::decode;
use crate::schema::{self, Kind, MAIN};
use crate::yaml::{self, Data, Node};
use crate::{Error, meaning};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A machine configuration: one or more documents, the main one (`machine:` and `cluster:`) first.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) documents: Vec<Document>,
}

/// One document of a configuration.
#[derive(Clone, PartialEq)]
pub struct Document {
    pub(crate) id: Id,
    pub(crate) value: Value,
}

/// What tells documents apart. The main document has no version, and only kinds that have names have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub version: String,
    pub kind: String,
    pub name: Option<String>,
}

impl Config {
    /// Reads the documents of a configuration. Documents of known kinds must have the fields and types that Talos's
    /// have; documents of other kinds are carried as they are.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let nodes = yaml::parse(text)?;
        let present = nodes.iter().filter(|it| !it.is_null());
        let documents = present.map(Document::read).collect::<Result<_, _>>()?;
        Self::new(documents)
    }

    /// Checks what holds between documents.
    pub(crate) fn new(documents: Vec<Document>) -> Result<Self, Error> {
        if documents.is_empty() {
            return Err(Error::EmptyConfig);
        }
        for (at, one) in documents.iter().enumerate() {
            let conflicts = one.kind_entry().map_or(&[][..], |it| &it.conflicts);
            for (position, other) in documents.iter().enumerate() {
                if position < at && one.id == other.id {
                    let document = one.id.to_string();
                    return Err(Error::DocumentTwice { document });
                }
                if conflicts.contains(&other.id.kind) && one.id.name == other.id.name {
                    let (one, other) = (one.id.to_string(), other.id.to_string());
                    return Err(Error::Conflict { one, other });
                }
            }
        }
        let (mut ordered, rest): (Vec<_>, Vec<_>) =
            documents.into_iter().partition(|it| it.id.is_main());
        ordered.extend(rest);
        Ok(Self { documents: ordered })
    }

    /// The documents, the main one first.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The configuration as YAML. Two configurations that are equal give the same text.
    pub fn to_yaml(&self) -> String {
        let texts = self.documents.iter().map(|document| {
            // Writing a tree of plain values into memory cannot fail.
            serde_saphyr::to_string(&document.written()).unwrap_or_default()
        });
        texts.collect::<Vec<_>>().join("---\n")
    }

    /// Whether two configurations mean the same: fields that are there and empty count as not there where Talos makes
    /// no difference, and so does the order of documents.
    pub fn same_meaning(&self, other: &Self) -> bool {
        let of = |config: &Self| {
            let documents = config.documents.iter();
            let mut all: Vec<_> = documents
                .map(|it| (it.id.to_string(), meaning::of(it)))
                .collect();
            all.sort_by(|one, other| one.0.cmp(&other.0));
            all
        };
        of(self) == of(other)
    }
}

impl Document {
    /// The kind; `v1alpha1` for the main document, which has none written in it.
    pub fn kind(&self) -> &str {
        &self.id.kind
    }

    /// The name, of kinds that have one.
    pub fn name(&self) -> Option<&str> {
        self.id.name.as_deref()
    }

    /// The fields. They hold secrets: never to be shown.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The main document is known by its fields: when a patch has deleted them all, one is left without a value.
    fn written(&self) -> Cow<'_, Value> {
        match &self.value {
            Value::Object(fields) if self.id.is_main() && !fields.keys().any(|it| is_main(it)) => {
                let mut fields = fields.clone();
                fields.insert("machine".to_owned(), Value::Null);
                Cow::Owned(Value::Object(fields))
            }
            value => Cow::Borrowed(value),
        }
    }

    pub(crate) fn kind_entry(&self) -> Option<&'static Kind> {
        schema::kind(&self.id.kind)
    }

    /// Reads a document of a known kind as its type, of any other as it is.
    fn read(node: &Node) -> Result<Self, Error> {
        match Self::read_known(node) {
            Err(Error::UnknownKind { .. }) => {
                let id = Id::of(node)?;
                let value = node.to_value();
                Ok(Self { id, value })
            }
            read => read,
        }
    }

    /// Reads a document of a known kind.
    pub(crate) fn read_known(node: &Node) -> Result<Self, Error> {
        let id = Id::of(node)?;
        let unknown = || Error::UnknownKind {
            kind: id.kind.clone(),
            line: node.line,
        };
        let known = id.is_main() || id.version == "v1alpha1" && id.kind != MAIN;
        let kind = schema::kind(&id.kind)
            .filter(|_| known)
            .ok_or_else(unknown)?;
        let value = decode(node, &kind.ty, &id.prefix())?.unwrap_or_default();
        Ok(Self { id, value })
    }
}

/// Whether a field is one of the main document's, which has no kind to know it by.
fn is_main(field: &str) -> bool {
    ["machine", "cluster", "debug", "persist"].contains(&field)
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({})", self.id) // the fields hold secrets
    }
}

impl Id {
    /// Which document a node is.
    pub fn of(node: &Node) -> Result<Self, Error> {
        let line = node.line;
        let Data::Map(entries) = &node.data else {
            return Err(Error::NotADocument { line });
        };
        // A null in place of a text is no text, as Go decodes it, and not the word.
        let text = |key| {
            let value = node.get(key).filter(|value| !value.is_null());
            value.and_then(Node::text).unwrap_or_default()
        };
        let (version, kind) = (text("apiVersion"), text("kind"));
        let has_main = || entries.iter().any(|(key, _)| is_main(key));
        match (version, kind) {
            ("" | "v1alpha1", "") if !version.is_empty() || has_main() => Ok(Self {
                version: String::new(),
                kind: MAIN.to_owned(),
                name: None,
            }),
            (_, "") => Err(Error::NoKind { line }),
            ("", _) => Err(Error::NoApiVersion { line }),
            (version, kind) => {
                let named = schema::kind(kind).map_or(node.get("name").is_some(), |it| it.named);
                Ok(Self {
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                    name: named.then(|| text("name").to_owned()),
                })
            }
        }
    }

    pub fn is_main(&self) -> bool {
        self.kind == MAIN && self.version.is_empty()
    }

    /// What stands before the path of a field of this document.
    pub fn prefix(&self) -> String {
        if self.is_main() {
            String::new()
        } else {
            format!("{self}: ")
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} {name}", self.kind),
            None if self.is_main() => f.write_str("with machine and cluster"),
            None => f.write_str(&self.kind),
        }
    }
}
