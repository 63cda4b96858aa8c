//! The generator of load: HTTP/2 over TLS 1.3 as an API server speaks it.
//!
//! Without a rate it is a closed loop: every stream sends its next review when the last is answered, which finds the
//! peak. With a rate it is an open loop: reviews leave at equal distances whatever the server does, and a latency
//! begins when its review was due, so that a server that stalls is charged for all that waited behind it.

use crate::connect::{Dialler, Target, post, uri};
use crate::figures::{per_second, quantile};
use crate::review;
use crate::slow::Crowd;
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::{StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// Connections of the generator.
const CONNECTIONS: usize = 8;
/// Connections that a review is tried on.
const TRIES: usize = 5;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Paths of webhooks, each of which gets every so manieth review.
    #[arg(long, required = true)]
    path: Vec<String>,
    /// Milliseconds to measure, after a quarter of that to warm up.
    #[arg(long)]
    millis: u64,
    /// Reviews a second; as many as are answered without it.
    #[arg(long)]
    rate: Option<f64>,
    /// Reviews that are under way on each connection in the closed loop.
    #[arg(long)]
    streams: usize,
    /// Slow clients that hold connections meanwhile.
    #[arg(long, default_value_t = 0)]
    slow: usize,
}

/// How reviews were answered.
#[derive(Debug, Deserialize, Serialize)]
pub struct Answered {
    /// Answers in all, those of the warm-up included.
    pub total: usize,
    /// Answers a second, without the warm-up.
    pub rate: f64,
    /// Half of them were faster.
    pub p50: Duration,
    /// All but one of a hundred were faster.
    pub p99: Duration,
    /// Slow clients that were still connected at the end.
    pub held: usize,
    /// Connections of the load that had to be made anew.
    pub anew: usize,
}

/// A connection and what is sent on it in turn.
#[derive(Clone)]
struct Client {
    line: Arc<Line>,
    reviews: Vec<(Uri, Bytes)>,
    next: usize,
}

/// A connection, made anew when the server told it to go, as an API server does.
struct Line {
    dialler: Dialler,
    current: Mutex<Connection>,
}

#[derive(Clone)]
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Connections before this one.
    number: usize,
}

/// Sends, and prints an [`Answered`].
pub async fn load(args: Args) -> Result<()> {
    let dialler = Dialler::new(&args.target)?;
    let mut reviews = Vec::new();
    for path in &args.path {
        reviews.push((uri(path)?, Bytes::from(review::body(path)?)));
    }
    let mut clients = Vec::new();
    for next in 0..CONNECTIONS {
        clients.push(Client {
            line: Arc::new(Line::new(&dialler).await?),
            reviews: reviews.clone(),
            next,
        });
    }
    let lines: Vec<Arc<Line>> = clients.iter().map(|client| client.line.clone()).collect();
    // The connections are in use while others come, as an API server's are.
    let crowd = tokio::select! {
        crowd = Crowd::gather(&dialler, args.slow, &args.path[0]) => crowd?,
        failed = use_all(clients.clone()) => bail!("before the load: {failed}"),
    };
    let time = Duration::from_millis(args.millis);
    let begin = Instant::now() + time / 4;
    let end = begin + time;
    let answers = match args.rate {
        None => closed(&clients, args.streams, end).await?,
        Some(rate) => open(clients, Duration::from_secs_f64(1.0 / rate), end).await?,
    };
    let held = crowd.held();
    let mut anew = 0;
    for line in &lines {
        anew += line.current.lock().await.number;
    }
    let mut counted: Vec<Duration> = answers
        .iter()
        .filter(|answer| answer.due >= begin && answer.due < end)
        .map(|answer| answer.took)
        .collect();
    counted.sort_unstable();
    let answered = Answered {
        total: answers.len(),
        rate: per_second(counted.len(), time),
        p50: quantile(&counted, 500),
        p99: quantile(&counted, 990),
        held,
        anew,
    };
    println!("{}", serde_json::to_string(&answered)?);
    Ok(())
}

/// Sends a review on each connection every few milliseconds, until one fails.
async fn use_all(mut clients: Vec<Client>) -> anyhow::Error {
    loop {
        let asked = clients.iter_mut().map(|client| client.ask(Instant::now()));
        if let Err(error) = try_join_all(asked).await {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One answer: when the review was due, and how long after that it was answered.
struct Answer {
    due: Instant,
    took: Duration,
}

async fn closed(clients: &[Client], streams: usize, end: Instant) -> Result<Vec<Answer>> {
    let mut running = JoinSet::new();
    let all = clients.iter().flat_map(|client| vec![client; streams]);
    for (number, client) in all.enumerate() {
        let mut client = client.clone();
        client.next = number;
        running.spawn(async move {
            let mut answers = Vec::new();
            while Instant::now() < end {
                answers.push(client.ask(Instant::now()).await?);
            }
            anyhow::Ok(answers)
        });
    }
    let mut all = Vec::new();
    while let Some(answers) = running.join_next().await {
        all.append(&mut answers??);
    }
    Ok(all)
}

async fn open(mut clients: Vec<Client>, distance: Duration, end: Instant) -> Result<Vec<Answer>> {
    let mut reviews = JoinSet::new();
    let mut all = Vec::new();
    let mut due = Instant::now();
    let mut number = 0;
    let count = clients.len();
    loop {
        // A timer of the runtime is a millisecond coarse, which is more than an answer takes: look at the clock
        // instead. Each turn also serves the sockets.
        while Instant::now() < due {
            tokio::task::yield_now().await;
        }
        if due >= end {
            break;
        }
        // Each connection gets every path, also where there are as many of the one as of the other.
        let client = &mut clients[number % count];
        client.next = number / count;
        number += 1;
        let mut client = client.clone();
        reviews.spawn(async move { client.ask(due).await });
        due += distance;
        while let Some(answer) = reviews.try_join_next() {
            all.push(answer??);
        }
    }
    while let Some(answer) = reviews.join_next().await {
        all.push(answer??);
    }
    Ok(all)
}

impl Client {
    /// Sends one review and makes sure that it is allowed.
    async fn ask(&mut self, due: Instant) -> Result<Answer> {
        let (uri, body) = self.reviews[self.next % self.reviews.len()].clone();
        self.next += 1;
        let mut tries = 1;
        loop {
            let mut connection = self.line.current.lock().await.clone();
            let asked = allowed(&mut connection.sender, uri.clone(), body.clone()).await;
            match asked {
                Ok(()) => break,
                // Not answered: the connection broke, or was told to go.
                Err(error) if tries < TRIES && error.is::<hyper::Error>() => {
                    tries += 1;
                    self.line.renew(connection.number).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Answer {
            due,
            took: due.elapsed(),
        })
    }
}

impl Line {
    async fn new(dialler: &Dialler) -> Result<Self> {
        let (sender, _) = dialler.http2().await?;
        Ok(Self {
            dialler: dialler.clone(),
            current: Mutex::new(Connection { sender, number: 0 }),
        })
    }

    /// Makes a connection in the place of the one of this number, unless somebody else did.
    async fn renew(&self, number: usize) -> Result<()> {
        let mut current = self.current.lock().await;
        if current.number == number {
            (current.sender, _) = self.dialler.http2().await?;
            current.number += 1;
        }
        Ok(())
    }
}

/// Sends one review and makes sure that it is allowed.
pub async fn allowed(sender: &mut SendRequest<Full<Bytes>>, uri: Uri, body: Bytes) -> Result<()> {
    let path = uri.path().to_owned();
    let answer = sender.send_request(post(uri, Full::new(body))?).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    let yes = br#""allowed":true"#;
    ensure!(
        status == StatusCode::OK && body.windows(yes.len()).any(|part| part == yes),
        "a review for {path} was answered with {status} {}",
        String::from_utf8_lossy(&body)
    );
    Ok(())
}
