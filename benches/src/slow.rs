//! Slow clients: each holds a connection and finishes nothing on it.

use crate::connect::{Dialler, post, uri};
use crate::figures::quantile;
use crate::review;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body_util::{Full, StreamBody};
use hyper::body::Frame;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

/// File descriptors beside those of the slow clients.
const OTHER_FILES: u64 = 128;
/// The crowd is there when nobody arrived for this long: a server may keep some waiting for ever.
const NOBODY_NEW: Duration = Duration::from_millis(400);

/// What a slow client does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Manner {
    /// Sends the beginning of a TLS handshake.
    Handshake,
    /// Sends one byte of an HTTP/1.1 header a second.
    Header,
    /// Shakes hands for HTTP/2 and asks nothing.
    Idle,
    /// Sends half of a review's body over HTTP/2.
    Body,
}

impl Manner {
    /// In which the clients take turns.
    pub const ALL: [Self; 4] = [Self::Handshake, Self::Header, Self::Idle, Self::Body];

    /// As it is said in the report.
    pub fn words(self) -> &'static str {
        match self {
            Self::Handshake => "never finish the TLS handshake",
            Self::Header => "trickle a header, a byte a second",
            Self::Idle => "idle HTTP/2 connection",
            Self::Body => "half a body over HTTP/2",
        }
    }
}

/// How the clients of one manner fared.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub struct Fared {
    /// The manner.
    pub manner: Manner,
    /// How many there were.
    pub count: usize,
    /// How many of them the server has dropped.
    pub dropped: usize,
    /// When half of the dropped ones were, after they began to connect.
    pub half_after: Duration,
}

/// Slow clients, connected until this is dropped.
pub struct Crowd {
    count: usize,
    gone: Arc<Mutex<Vec<(Manner, Duration)>>>,
    // Aborted with the crowd.
    _tasks: JoinSet<()>,
}

impl Crowd {
    /// Connects `count` clients, and returns when no more of them get anywhere.
    pub async fn gather(dialler: &Dialler, count: usize, path: &str) -> Result<Self> {
        allow_files(count)?;
        let (arrived, gone) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let mut tasks = JoinSet::new();
        for manner in Manner::ALL.into_iter().cycle().take(count) {
            let client = Client {
                dialler: dialler.clone(),
                path: path.to_owned(),
                arrived: arrived.clone(),
            };
            let gone: Arc<Mutex<Vec<_>>> = Arc::clone(&gone);
            tasks.spawn(async move {
                let begin = Instant::now();
                // However it ends, the server has let go of it.
                client.hold(manner).await.unwrap_or_default();
                let mut gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
                gone.push((manner, begin.elapsed()));
            });
        }
        let (mut seen, mut since) = (0, Instant::now());
        while seen < count && since.elapsed() < NOBODY_NEW {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let now = arrived.load(Ordering::Relaxed);
            if now > seen {
                (seen, since) = (now, Instant::now());
            }
        }
        Ok(Self {
            count,
            gone,
            _tasks: tasks,
        })
    }

    /// How many are connected still.
    pub fn held(&self) -> usize {
        self.count - self.dropped().len()
    }

    /// How they fared, by manner.
    pub fn fared(&self) -> Vec<Fared> {
        fared(self.count, &self.dropped())
    }

    fn dropped(&self) -> Vec<(Manner, Duration)> {
        let gone = self.gone.lock();
        gone.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn fared(count: usize, gone: &[(Manner, Duration)]) -> Vec<Fared> {
    let one = |manner: &Manner| {
        let of = Manner::ALL.iter().cycle().take(count);
        let gone = gone.iter().filter(|(of, _)| of == manner);
        let mut after: Vec<Duration> = gone.map(|(_, after)| *after).collect();
        after.sort_unstable();
        Fared {
            manner: *manner,
            count: of.filter(|of| *of == manner).count(),
            dropped: after.len(),
            half_after: quantile(&after, 500),
        }
    };
    Manner::ALL.iter().map(one).collect()
}

/// Makes sure that so many connections may be open at once.
fn allow_files(count: usize) -> Result<()> {
    let needed = u64::try_from(count)? + OTHER_FILES;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    ensure!(
        limits.maximum.is_none_or(|maximum| maximum >= needed),
        "{count} slow clients need {needed} open files, and no more than {} are allowed: raise the hard limit (ulimit -Hn {needed})",
        limits.maximum.unwrap_or_default()
    );
    let raised = Rlimit {
        current: Some(needed),
        ..limits
    };
    setrlimit(Resource::Nofile, raised).context("raise the limit of open files (ulimit -n)")
}

/// One slow client.
struct Client {
    dialler: Dialler,
    path: String,
    arrived: Arc<AtomicUsize>,
}

impl Client {
    /// Holds on until the server lets go.
    async fn hold(&self, manner: Manner) -> Result<()> {
        match manner {
            Manner::Handshake => self.handshake().await,
            Manner::Header => self.header().await,
            Manner::Idle => {
                let (_sender, ended) = self.dialler.http2::<Full<Bytes>>().await?;
                self.arrive();
                Ok(ended.await?)
            }
            Manner::Body => self.body().await,
        }
    }

    fn arrive(&self) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }

    async fn handshake(&self) -> Result<()> {
        let mut stream = self.dialler.tcp().await?;
        // The head of a record that holds a ClientHello of 512 bytes, which does not come.
        stream.write_all(&[22, 3, 1, 2, 0]).await?;
        self.arrive();
        until_closed(&mut stream).await
    }

    async fn header(&self) -> Result<()> {
        let stream = self.dialler.tls(b"http/1.1").await?;
        let (mut read, mut write) = tokio::io::split(stream);
        let head = format!("POST {} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", self.path);
        write.write_all(head.as_bytes()).await?;
        write.flush().await?;
        self.arrive();
        let trickle = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                write.write_all(b"x").await?;
                write.flush().await?;
            }
        };
        tokio::select! {
            closed = until_closed(&mut read) => closed,
            failed = trickle => failed,
        }
    }

    async fn body(&self) -> Result<()> {
        let whole = review::body(&self.path)?;
        let half = Bytes::copy_from_slice(&whole[..whole.len() / 2]);
        let half = stream::iter([Ok::<_, Infallible>(Frame::data(half))]);
        let body = StreamBody::new(half.chain(stream::pending()));
        let (mut sender, ended) = self.dialler.http2().await?;
        let mut request = post(uri(&self.path)?, body)?;
        let length = HeaderValue::from(whole.len());
        request.headers_mut().insert(CONTENT_LENGTH, length);
        let answer = sender.send_request(request);
        self.arrive();
        // A server may give the request up and keep the connection.
        drop(answer.await);
        Ok(ended.await?)
    }
}

async fn until_closed(stream: &mut (impl AsyncReadExt + Unpin)) -> Result<()> {
    let mut answer = [0; 256];
    while stream.read(&mut answer).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_clients_are_counted_by_manner() {
        let seconds = Duration::from_secs;
        let gone = [5, 7, 6].map(|after| (Manner::Handshake, seconds(after)));
        let all = fared(10, &gone);
        let first = Fared {
            manner: Manner::Handshake,
            count: 3,
            dropped: 3,
            half_after: seconds(6),
        };
        assert_eq!(all[0], first);
        let rest: Vec<(usize, usize)> = all[1..].iter().map(|it| (it.count, it.dropped)).collect();
        assert_eq!(rest, [(3, 0), (2, 0), (2, 0)]);
    }

    #[test]
    fn a_limit_that_cannot_be_raised_is_named() {
        let limits = getrlimit(Resource::Nofile);
        if let Some(maximum) = limits.maximum {
            let count = usize::try_from(maximum).expect("a number");
            let error = allow_files(count).expect_err("too many").to_string();
            assert!(error.contains("ulimit -Hn"), "{error}");
        }
        allow_files(1).expect("few");
    }
}
