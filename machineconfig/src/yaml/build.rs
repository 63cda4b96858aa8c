//! From the parser's events to trees, within bounds.

use super::{Data, Node};
use crate::Error;
use granit_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::{HashMap, HashSet};

/// The longest text that is read, and the most that aliases or copies add to it.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Most nodes of one text, aliases written out.
pub(crate) const MAX_NODES: usize = 400_000;
/// Deepest nesting, aliases written out.
pub(crate) const MAX_DEPTH: usize = 100;
/// Most documents of one text.
const MAX_DOCUMENTS: usize = 1_000;

/// Reads the documents of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge {
            limit: "4 MiB of text",
        });
    }
    // The parser reads over them, Talos's does not (YAML 1.2.2 section 5.1).
    let marked = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = marked.find(|letter| !is_printable(letter)) {
        let line = 1 + marked[..at].matches('\n').count();
        return Err(Error::ControlCharacter { line });
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

/// Whether YAML allows the character.
fn is_printable(letter: char) -> bool {
    matches!(letter,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

/// Collects the parser's events into trees without recursion.
#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    /// Bytes that aliases gave, written out.
    copied: usize,
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
                self.copied += target.bytes();
                if self.copied > MAX_BYTES {
                    return Err(Error::TooLarge {
                        limit: "4 MiB of text, aliases written out",
                    });
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
    let mut seen: HashSet<String> = entries.iter().map(|(key, _)| key.clone()).collect();
    for map in maps {
        let Data::Map(merged) = map.data else {
            return Err(Error::NotYaml { line });
        };
        entries.extend(
            merged
                .into_iter()
                .filter(|(key, _)| seen.insert(key.clone())),
        );
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
