//! `cosi.resource.State`: reads with the filter Talos puts before them, watches, refusal of every write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use prost::Message;
use regex::Regex;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::not_authorized;
use crate::node::Node;
use crate::proto::cosi as pb;
use crate::resources::{self, types};
use crate::serve::{Reply, Request};

pub fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    match request.method() {
        "Get" => get(node, request, &request.message()?),
        "List" => list(node, request, &request.message()?),
        "Watch" => watch(node, request, request.message()?),
        _ => Err(Status::permission_denied("write access is not allowed")),
    }
}

/// Unknown namespaces and types are refused; sensitive types are the admin's.
fn filter(request: &Request, namespace: &str, kind: &str) -> Result<(), Status> {
    if !types::is_namespace(namespace) {
        return Err(Status::permission_denied(format!(
            "namespace \"{namespace}\" is not supported"
        )));
    }
    let Some(kind) = types::find(kind) else {
        return Err(Status::permission_denied(format!(
            "resource type \"{kind}\" is not supported"
        )));
    };
    if kind.sensitive && !request.roles.is_admin() {
        Err(not_authorized())
    } else {
        Ok(())
    }
}

fn get(node: &Node, request: &Request, message: &pb::GetRequest) -> Result<Reply, Status> {
    filter(request, &message.namespace, &message.r#type)?;
    let resource = resources::get(node, &message.namespace, &message.r#type, &message.id)
        .ok_or_else(|| {
            Status::not_found(format!(
                "resource {}({}/{}@undefined) doesn't exist",
                message.r#type, message.namespace, message.id
            ))
        })?;
    Ok(Reply::one(&pb::GetResponse {
        resource: Some(resource),
    }))
}

fn list(node: &Node, request: &Request, message: &pb::ListRequest) -> Result<Reply, Status> {
    filter(request, &message.namespace, &message.r#type)?;
    let options = message.options.clone().unwrap_or_default();
    let query = Query::new(options.id_query.as_ref(), options.label_query)?;
    let found: Vec<_> = resources::list(node, &message.namespace, &message.r#type)
        .into_iter()
        .filter(|resource| query.matches(resource))
        .map(|resource| pb::ListResponse {
            resource: Some(resource),
        })
        .collect();
    Ok(Reply::many(&found))
}

/// Selection by ID and labels.
struct Query {
    id: Option<Regex>,
    labels: Vec<pb::LabelQuery>,
}

impl Query {
    fn new(id: Option<&pb::IdQuery>, labels: Vec<pb::LabelQuery>) -> Result<Self, Status> {
        let id = match id.filter(|query| !query.regexp.is_empty()) {
            None => None,
            Some(query) => Some(Regex::new(&query.regexp).map_err(|_| {
                let reason =
                    if query.regexp.matches('(').count() > query.regexp.matches(')').count() {
                        "missing closing )"
                    } else {
                        "invalid regexp"
                    };
                Status::invalid_argument(format!(
                    "failed to compile regexp: error parsing regexp: {reason}: `{}`",
                    query.regexp
                ))
            })?),
        };
        Ok(Self { id, labels })
    }

    fn matches(&self, resource: &pb::Resource) -> bool {
        let metadata = resource.metadata.clone().unwrap_or_default();
        let by_labels = |query: &pb::LabelQuery| {
            query
                .terms
                .iter()
                .all(|term| term_matches(term, &metadata.labels.clone().into_iter().collect()))
        };
        self.id.as_ref().is_none_or(|id| id.is_match(&metadata.id))
            && (self.labels.is_empty() || self.labels.iter().any(by_labels))
    }
}

fn term_matches(term: &pb::LabelTerm, labels: &BTreeMap<String, String>) -> bool {
    use pb::label_term::Operation;
    let value = labels.get(&term.key);
    let matched = match term.op() {
        Operation::Exists => value.is_some(),
        Operation::NotExists => value.is_none(),
        Operation::Equal | Operation::In => value.is_some_and(|value| term.value.contains(value)),
        _ => false,
    };
    matched != term.invert
}

/// How often a watch looks for changes.
const TICK: Duration = Duration::from_millis(20);

fn watch(node: &Arc<Node>, request: &Request, message: pb::WatchRequest) -> Result<Reply, Status> {
    filter(request, &message.namespace, &message.r#type)?;
    let options = message.options.clone().unwrap_or_default();
    if !options.start_from_bookmark.is_empty() && options.start_from_bookmark.len() != 16 {
        return Err(Status::failed_precondition("invalid watch bookmark"));
    }
    let query = Query::new(options.id_query.as_ref(), options.label_query.clone())?;
    let (sender, receiver) = tokio::sync::mpsc::channel(64);
    let mut watcher = Watcher {
        node: Arc::clone(node),
        query,
        seen: BTreeMap::new(),
        stream: rand::random(),
        sequence: 0,
        message,
        options,
    };
    let root = node.shared.root.clone();
    tokio::spawn(async move {
        let run = async {
            let mut batch = watcher.first();
            loop {
                for response in batch {
                    if sender.send(response).await.is_err() {
                        return;
                    }
                }
                tokio::select! {
                    () = sender.closed() => return,
                    () = tokio::time::sleep(TICK) => {}
                }
                batch = watcher.changes();
            }
        };
        tokio::select! {
            () = root.cancelled() => {}
            () = run => {}
        }
    });
    Ok(Reply::Many(Box::pin(ReceiverStream::new(receiver).map(
        |message: pb::WatchResponse| Ok(message.encode_to_vec().into()),
    ))))
}

struct Watcher {
    node: Arc<Node>,
    query: Query,
    seen: BTreeMap<String, pb::Resource>,
    stream: u64,
    sequence: u64,
    message: pb::WatchRequest,
    options: pb::WatchOptions,
}

impl Watcher {
    fn now(&self) -> BTreeMap<String, pb::Resource> {
        resources::list(&self.node, &self.message.namespace, &self.message.r#type)
            .into_iter()
            .filter(|resource| self.query.matches(resource))
            .map(|resource| (id(&resource), resource))
            .filter(|(id, _)| self.message.id.as_ref().is_none_or(|wanted| wanted == id))
            .collect()
    }

    /// Established (an empty response, also without an api_version), then the state of one resource, the contents
    /// asked for, or a bookmark.
    fn first(&mut self) -> Vec<pb::WatchResponse> {
        self.seen = self.now();
        let mut batch = vec![pb::WatchResponse::default()];
        let contents: Vec<pb::Resource> = self.seen.values().cloned().collect();
        let created = |resource| plain(pb::EventType::Created, resource);
        if let Some(id) = self.message.id.clone() {
            let event = match contents.into_iter().next() {
                Some(resource) => created(resource),
                None => plain(pb::EventType::Destroyed, self.nothing(id)),
            };
            batch.push(pb::WatchResponse { event: vec![event] });
        } else if self.options.bootstrap_contents {
            let mut events: Vec<_> = contents.into_iter().map(created).collect();
            let nothing = self.nothing(String::new());
            events.push(self.event(pb::EventType::Bootstrapped, nothing, None));
            batch.extend(self.pack(events));
        } else if self.options.bootstrap_bookmark {
            let nothing = self.nothing(String::new());
            let event = self.event(pb::EventType::Noop, nothing, None);
            batch.push(pb::WatchResponse { event: vec![event] });
        }
        batch
    }

    /// The empty resource that stands where there is none.
    fn nothing(&self, id: String) -> pb::Resource {
        let now = Some(resources::timestamp());
        pb::Resource {
            metadata: Some(pb::Metadata {
                namespace: self.message.namespace.clone(),
                r#type: self.message.r#type.clone(),
                id,
                version: "undefined".to_owned(),
                phase: "running".to_owned(),
                created: now,
                updated: now,
                ..pb::Metadata::default()
            }),
            spec: Some(pb::Spec::default()),
        }
    }

    fn changes(&mut self) -> Vec<pb::WatchResponse> {
        let now = self.now();
        let before = std::mem::replace(&mut self.seen, now.clone());
        let mut events = Vec::new();
        for (id, resource) in &now {
            match before.get(id) {
                None => events.push(self.event(pb::EventType::Created, resource.clone(), None)),
                Some(old) if old != resource => {
                    events.push(self.event(
                        pb::EventType::Updated,
                        resource.clone(),
                        Some(old.clone()),
                    ));
                }
                Some(_) => {}
            }
        }
        for (_, old) in before.into_iter().filter(|(id, _)| !now.contains_key(id)) {
            events.push(self.event(pb::EventType::Destroyed, old, None));
        }
        if events.is_empty() {
            Vec::new()
        } else {
            self.pack(events)
        }
    }

    fn pack(&self, events: Vec<pb::Event>) -> Vec<pb::WatchResponse> {
        if self.options.aggregated {
            return vec![pb::WatchResponse { event: events }];
        }
        events
            .into_iter()
            .map(|event| pb::WatchResponse { event: vec![event] })
            .collect()
    }

    /// An event with a bookmark: 16 bytes, the last eight count.
    fn event(
        &mut self,
        kind: pb::EventType,
        resource: pb::Resource,
        old: Option<pb::Resource>,
    ) -> pb::Event {
        self.sequence += 1;
        let bookmark = [self.stream.to_be_bytes(), self.sequence.to_be_bytes()].concat();
        pb::Event {
            old,
            bookmark,
            ..plain(kind, resource)
        }
    }
}

/// What a watch begins with carries no bookmark.
fn plain(kind: pb::EventType, resource: pb::Resource) -> pb::Event {
    pb::Event {
        resource: Some(resource),
        event_type: kind.into(),
        old: None,
        error: String::new(),
        bookmark: Vec::new(),
    }
}

fn id(resource: &pb::Resource) -> String {
    resource
        .metadata
        .as_ref()
        .map(|metadata| metadata.id.clone())
        .unwrap_or_default()
}
