//! YAML as a bounded tree of nodes that keeps what Go's decoder looks at: the text of every scalar and whether it was
//! quoted. A generic value would not do: an image tag written `1.10` is text to Talos, not the number 1.1.

use crate::Error;
use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};
use std::collections::{HashMap, HashSet};

/// The longest text that is read.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Most nodes of one text, aliases written out.
const MAX_NODES: usize = 400_000;
/// Deepest nesting, aliases written out.
const MAX_DEPTH: usize = 100;
/// Most documents of one text.
const MAX_DOCUMENTS: usize = 1_000;

/// One node and the line it starts on.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub line: usize,
    pub data: Data,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Scalar { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// What a scalar is where no type says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resolved {
    Null,
    Bool(bool),
    Number(Number),
    Text,
}

impl Node {
    pub fn is_null(&self) -> bool {
        self.resolved() == Some(Resolved::Null)
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        entries.iter().find(|(name, _)| name == key).map(|it| &it.1)
    }

    /// The text of a scalar, whatever its type.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What a scalar is; nothing for lists and maps.
    pub fn resolved(&self) -> Option<Resolved> {
        match &self.data {
            Data::Scalar { text, plain: true } => Some(resolve(text)),
            Data::Scalar { .. } => Some(Resolved::Text),
            _ => None,
        }
    }

    /// The node as a value without a type.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Scalar { text, .. } => match self.resolved() {
                Some(Resolved::Null) => Value::Null,
                Some(Resolved::Bool(flag)) => flag.into(),
                Some(Resolved::Number(number)) => number.into(),
                _ => text.clone().into(),
            },
            Data::List(items) => items.iter().map(Self::to_value).collect(),
            Data::Map(entries) => {
                let fields = entries.iter().map(|(k, v)| (k.clone(), v.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// A node as if the value had been written as YAML.
    pub fn from_value(value: &Value) -> Self {
        let scalar = |text: String, plain| Data::Scalar { text, plain };
        let data = match value {
            Value::String(text) => scalar(text.clone(), false),
            Value::Array(items) => Data::List(items.iter().map(Self::from_value).collect()),
            Value::Object(fields) => {
                let entries = fields.iter().map(|(k, v)| (k.clone(), Self::from_value(v)));
                Data::Map(entries.collect())
            }
            other => scalar(other.to_string(), true),
        };
        Self { line: 0, data }
    }

    /// Nodes and depth of the tree, or nothing when there are more nodes than allowed.
    fn measure(&self, allowed: usize) -> Option<(usize, usize)> {
        let mut sum = (1, 1);
        let mut add = |node: &Self| -> Option<()> {
            let (nodes, depth) = node.measure(allowed.checked_sub(sum.0)?)?;
            sum = (sum.0 + nodes, sum.1.max(depth + 1));
            Some(())
        };
        match &self.data {
            Data::Scalar { .. } => {}
            Data::List(items) => items.iter().try_for_each(&mut add)?,
            Data::Map(entries) => entries.iter().try_for_each(|(_, node)| add(node))?,
        }
        (sum.0 <= allowed).then_some(sum)
    }
}

/// How Go's decoder reads a scalar that is not quoted: booleans are only `true` and `false`, a leading zero makes an
/// octal number, underscores in numbers do not count, and there are no numbers of base 60.
pub(crate) fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Resolved::Text;
    }
    let plain = text.replace('_', "");
    integer(&plain)
        .or_else(|| float(if text.starts_with('.') { text } else { &plain }))
        .map_or(Resolved::Text, Resolved::Number)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (radix, rest)))
        .unwrap_or(match lower.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest),
            _ => (10, lower.as_str()),
        });
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if negative {
        return i64::from_str_radix(&format!("-{digits}"), radix)
            .ok()
            .map(Number::from);
    }
    u64::from_str_radix(digits, radix).ok().map(Number::from)
}

fn float(text: &str) -> Option<Number> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let shaped = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && body.contains(|c: char| c.is_ascii_digit())
        && body
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    // Infinities and NaN have no place in any field of a configuration, nor in JSON.
    shaped
        .then(|| text.parse().ok().and_then(Number::from_f64))
        .flatten()
}

/// Reads the documents of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge {
            limit: "4 MiB of text",
        });
    }
    let mut options = granit_parser::options! {
        // Talos's parser refuses %YAML 1.2, and no configuration needs %TAG.
        disallow_directives: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        // The parser's own words may repeat the text, which may be secret.
        let (event, span) = next.map_err(|fault| Error::NotYaml {
            line: fault.marker().line(),
        })?;
        builder.take(event, span.start.line())?;
    }
    Ok(builder.documents)
}

/// Collects the parser's events into trees without recursion.
#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

/// A list or map whose end was not seen yet; in a map, the key whose value comes next.
struct Open {
    anchor: usize,
    node: Node,
    key: Option<Key>,
    merges: Vec<Node>,
}

struct Key {
    text: String,
    line: usize,
    /// Whether it is the merge key `<<`.
    merge: bool,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Error> {
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = plain(style, tag.as_deref(), line)?;
                let text = text.into_owned();
                let node = Node {
                    line,
                    data: Data::Scalar { text, plain },
                };
                self.complete(node, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                collection(tag.as_deref(), "seq", line)?;
                self.open(Data::List(Vec::new()), anchor, line)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                collection(tag.as_deref(), "map", line)?;
                self.open(Data::Map(Vec::new()), anchor, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut done) = self.open.pop() {
                    if let Data::Map(entries) = &mut done.node.data {
                        unique(entries)?;
                        for merged in done.merges {
                            merge_key(entries, merged)?;
                        }
                    }
                    self.nodes -= 1; // counted again as a value
                    self.complete(done.node, done.anchor)?;
                }
            }
            Event::Alias(id) => {
                // An anchor that is not complete yet holds this alias: a tree without end.
                let target = self.anchors.get(&id).ok_or(Error::NotYaml { line })?;
                let (nodes, depth) = target
                    .measure(MAX_NODES.saturating_sub(self.nodes))
                    .ok_or(Error::TooManyNodes { line })?;
                if depth + self.open.len() > MAX_DEPTH {
                    return Err(Error::TooDeep { line });
                }
                let node = target.clone();
                self.nodes += nodes - 1;
                self.complete(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, line: usize) -> Result<(), Error> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Error::TooManyNodes { line });
        }
        Ok(())
    }

    fn open(&mut self, data: Data, anchor: usize, line: usize) -> Result<(), Error> {
        self.count(line)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep { line });
        }
        self.open.push(Open {
            anchor,
            node: Node { line, data },
            key: None,
            merges: Vec::new(),
        });
        Ok(())
    }

    /// Puts a complete node where it belongs: into the list or map that is open, or among the documents.
    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), Error> {
        let line = node.line;
        self.count(line)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            if self.documents.len() >= MAX_DOCUMENTS {
                return Err(Error::TooLarge {
                    limit: "1000 documents",
                });
            }
            self.documents.push(node);
            return Ok(());
        };
        match (&mut parent.node.data, parent.key.take()) {
            (Data::List(items), _) => items.push(node),
            (Data::Map(_), None) => parent.key = Some(key(node)?),
            (Data::Map(_), Some(key)) if key.merge => parent.merges.push(node),
            (Data::Map(entries), Some(key)) => {
                let line = key.line; // where a person looks for the field
                entries.push((key.text, Node { line, ..node }));
            }
            (Data::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

fn key(node: Node) -> Result<Key, Error> {
    let line = node.line;
    match node.data {
        Data::Scalar { text, plain } => Ok(Key {
            merge: plain && text == "<<",
            text,
            line,
        }),
        _ => Err(Error::KeyNotText { line }),
    }
}

fn unique(entries: &[(String, Node)]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    match entries.iter().find(|(key, _)| !seen.insert(key)) {
        Some((_, node)) => Err(Error::KeyTwice { line: node.line }),
        None => Ok(()),
    }
}

/// `<<: *defaults` gives the keys that the map does not have itself.
fn merge_key(entries: &mut Vec<(String, Node)>, node: Node) -> Result<(), Error> {
    let line = node.line;
    let maps = match node.data {
        Data::Map(_) => vec![node],
        Data::List(items) => items,
        Data::Scalar { .. } => return Err(Error::NotYaml { line }),
    };
    for map in maps {
        let Data::Map(merged) = map.data else {
            return Err(Error::NotYaml { line });
        };
        for (key, value) in merged {
            if !entries.iter().any(|(name, _)| *name == key) {
                entries.push((key, value));
            }
        }
    }
    Ok(())
}

/// Whether a scalar is read by its looks. Quotes and `!!str` make it text; the other tags of YAML's core would only say
/// again what it looks like, and any further one (`!!binary`, one's own) is refused: no field of a configuration needs it.
fn plain(style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<bool, Error> {
    match tag {
        None => Ok(style == ScalarStyle::Plain),
        Some(tag) if tag.core_suffix() == Some("str") => Ok(false),
        Some(_) => Err(Error::Tag { line }),
    }
}

fn collection(tag: Option<&Tag>, expected: &str, line: usize) -> Result<(), Error> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(expected) => Err(Error::Tag { line }),
        _ => Ok(()),
    }
}
