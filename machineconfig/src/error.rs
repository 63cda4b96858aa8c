//! What can be wrong with a configuration or a patch. Fields and lines are named, values never: they may be secret.

/// Why a configuration or a patch was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML.
    #[error(
        "line {line} is not YAML: look at quotes, brackets and indentation there and in the lines around it"
    )]
    NotYaml {
        /// Line of the fault, from 1.
        line: usize,
    },
    /// A character that YAML does not allow.
    #[error(
        "line {line} holds a control character, which YAML does not allow; write it in double quotes, such as \"\\u0007\", or take it out"
    )]
    ControlCharacter {
        /// Line of the character, from 1.
        line: usize,
    },
    /// More text or documents than are read.
    #[error("there is more than {limit}; split it up")]
    TooLarge {
        /// What the limit is.
        limit: &'static str,
    },
    /// Too many values, most likely through aliases of aliases.
    #[error("line {line}: there are more than 400000 values, aliases written out; write fewer")]
    TooManyNodes {
        /// Line where the limit was passed.
        line: usize,
    },
    /// Too deep.
    #[error("line {line} is nested more than 100 deep; Talos has no field that deep")]
    TooDeep {
        /// Line where the limit was passed.
        line: usize,
    },
    /// A list or map as a key.
    #[error("line {line}: a list or map stands where a field name belongs; quote it if it is text")]
    KeyNotText {
        /// Line of the key.
        line: usize,
    },
    /// The same key twice in one map.
    #[error("line {line}: this field is there a second time; keep one of them")]
    KeyTwice {
        /// Line of the second.
        line: usize,
    },
    /// A YAML tag.
    #[error("line {line}: YAML tags (such as !!binary) are not read; write the value plainly")]
    Tag {
        /// Line of the tag.
        line: usize,
    },
    /// A document that is a list or a single value.
    #[error(
        "line {line}: a document is a map of fields (machine:, cluster:, or apiVersion: and kind:), and this is none"
    )]
    NotADocument {
        /// Line where the document starts.
        line: usize,
    },
    /// There is no document.
    #[error("the configuration is empty; it needs at least one document")]
    EmptyConfig,
    /// The patch says nothing.
    #[error(
        "the patch is empty: it has no field, document or operation (comments do not count); write what is to be changed, or delete the patch"
    )]
    EmptyPatch,
    /// A document has no kind.
    #[error(
        "line {line}: the document has no kind; add kind and apiVersion: v1alpha1, or put its fields below machine: or cluster:"
    )]
    NoKind {
        /// Line where the document starts.
        line: usize,
    },
    /// A document has a kind and no version.
    #[error("line {line}: the document has no apiVersion; add apiVersion: v1alpha1")]
    NoApiVersion {
        /// Line where the document starts.
        line: usize,
    },
    /// Talos has no such document.
    #[error(
        "line {line}: Talos has no document of kind {kind:?} with this apiVersion; see the configuration reference of your Talos version"
    )]
    UnknownKind {
        /// The kind as written.
        kind: String,
        /// Line where the document starts.
        line: usize,
    },
    /// Talos has no such field.
    #[error("{path}{} is not a field that Talos knows; check its spelling and what it stands below", at(*.line))]
    UnknownField {
        /// The field.
        path: String,
        /// Its line, 0 where there is none.
        line: usize,
    },
    /// A value of the wrong type.
    #[error("{path}{} must be {expected}", at(*.line))]
    WrongType {
        /// The field.
        path: String,
        /// Its line, 0 where there is none.
        line: usize,
        /// What belongs there.
        expected: String,
    },
    /// The same document twice.
    #[error("the document {document} is there twice; keep one of them")]
    DocumentTwice {
        /// Kind and name.
        document: String,
    },
    /// Two documents that cannot stand beside each other.
    #[error(
        "the documents {one} and {other} cannot stand beside each other: both configure the same thing; delete one of them ($patch: delete)"
    )]
    Conflict {
        /// Kind and name of the one.
        one: String,
        /// Kind and name of the other.
        other: String,
    },
    /// RFC 6902 on several documents.
    #[error(
        "a JSON patch (RFC 6902) can only change a configuration of one document, and this one has {documents}; write a strategic merge patch instead"
    )]
    JsonPatchOnDocuments {
        /// Number of documents.
        documents: usize,
    },
    /// An operation that is none.
    #[error(
        "operation {number} of the JSON patch is none that RFC 6902 knows: it needs op (add, remove, replace, move, copy or test), path, and value or from"
    )]
    BadOperation {
        /// Which one, from 1.
        number: usize,
    },
    /// An operation that could not be carried out.
    #[error("operation {number} of the JSON patch cannot be carried out at {path}: {reason}")]
    Operation {
        /// Which one, from 1.
        number: usize,
        /// The path as written.
        path: String,
        /// Why.
        reason: &'static str,
    },
    /// `$patch: delete` where it cannot stand.
    #[error("$patch: delete cannot stand at {path}{}: {reason}", at(*.line))]
    BadDelete {
        /// Where it is.
        path: String,
        /// Its line.
        line: usize,
        /// Why not.
        reason: &'static str,
    },
    /// `$patch: delete` found nothing.
    #[error("there is nothing to delete at {path}; check the name, or leave $patch: delete out")]
    NothingToDelete {
        /// What was to be deleted.
        path: String,
    },
    /// Two values that do not merge.
    #[error("{path} cannot be merged: {reason}")]
    Unmergeable {
        /// The field.
        path: String,
        /// Why.
        reason: &'static str,
    },
}

fn at(line: usize) -> String {
    if line == 0 {
        String::new()
    } else {
        format!(" (line {line})")
    }
}
