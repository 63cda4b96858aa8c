//! The spellings a bundle has had. `talosctl gen secrets` writes `certs.os.crt`; the same structure written as
//! JSON has capitals (`Certs.OS`), and other tools write `cert` and underscores. Keys are therefore compared in
//! lower case without underscores, and both spellings of the certificate are read.

use super::BundleError;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// What is read of a bundle.
pub(super) struct Layout {
    pub(super) cluster_id: Option<String>,
    pub(super) os: Option<Pair>,
    pub(super) kubernetes: Option<Pair>,
}

/// Certificate and key as they stand in the bundle.
pub(super) struct Pair {
    crt: Option<Zeroizing<String>>,
    key: Option<Zeroizing<String>>,
}

impl Pair {
    /// Certificate and key, where they are not empty.
    pub(super) fn values(&self) -> (Option<&str>, Option<&str>) {
        let filled = |value| Option::map(value, |text: &Zeroizing<String>| text.trim());
        (
            filled(self.crt.as_ref()).filter(|text| !text.is_empty()),
            filled(self.key.as_ref()).filter(|text| !text.is_empty()),
        )
    }
}

impl Layout {
    /// Reads the text. The YAML reader's own message is dropped: it quotes the text, which is all secrets.
    pub(super) fn read(text: &[u8]) -> Result<Self, BundleError> {
        let mut tree: Tree = serde_saphyr::from_slice(text).map_err(|fault| {
            let line = fault.location().map(|location| location.line());
            BundleError::NotABundle { line }
        })?;
        if !matches!(tree, Tree::Map(_)) {
            return Err(BundleError::NotABundle { line: None });
        }
        if tree.take("machine").is_some() {
            return Err(BundleError::MachineConfiguration);
        }
        let mut cluster = tree.take("cluster").unwrap_or(Tree::Nothing);
        let mut certs = tree.take("certs").unwrap_or(Tree::Nothing);
        Ok(Self {
            cluster_id: cluster
                .take("id")
                .and_then(Tree::text)
                .map(|id| id.trim().to_owned())
                .filter(|id| !id.is_empty()),
            os: certs.take("os").map(Pair::from),
            kubernetes: certs.take("k8s").map(Pair::from),
        })
    }
}

impl From<Tree> for Pair {
    fn from(mut tree: Tree) -> Self {
        Self {
            crt: tree
                .take("crt")
                .or_else(|| tree.take("cert"))
                .and_then(Tree::text),
            key: tree.take("key").and_then(Tree::text),
        }
    }
}

/// A YAML value of which maps and texts matter.
enum Tree {
    Map(BTreeMap<String, Tree>),
    Text(Zeroizing<String>),
    Nothing,
}

impl Tree {
    fn take(&mut self, key: &str) -> Option<Tree> {
        match self {
            Self::Map(entries) => entries.remove(key),
            Self::Text(_) | Self::Nothing => None,
        }
    }

    fn text(self) -> Option<Zeroizing<String>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Map(_) | Self::Nothing => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secrets bundle")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, Tree>()? {
            entries.insert(key.replace('_', "").to_ascii_lowercase(), value);
        }
        Ok(Tree::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Tree, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Tree::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(Zeroizing::new(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Text(Zeroizing::new(text)))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }
}
