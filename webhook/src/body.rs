//! Reads request bodies within bounds: a body over the limit is refused before it is buffered, and all
//! bodies together never hold more than a budget (FAULTS 9).

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes that the bodies of all requests may hold together.
const BUDGET_BYTES: usize = 64 << 20;
/// Bytes per permit of the budget.
const UNIT: usize = 1 << 10;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// Longer than the limit.
    #[error("the body is over {0} bytes: a review holds two objects and is never longer")]
    TooLarge(usize),
    /// Other requests hold the budget.
    #[error("too many large requests at once: try again")]
    Busy,
    /// The connection broke off.
    #[error("the body ended early")]
    Broken,
}

/// The bytes that all bodies may hold together.
pub(crate) struct Budget(Semaphore);

impl Default for Budget {
    fn default() -> Self {
        Self(Semaphore::new(BUDGET_BYTES / UNIT))
    }
}

/// A body, and its share of the budget.
pub(crate) struct Body<'a> {
    pub(crate) bytes: Bytes,
    _held: Option<SemaphorePermit<'a>>,
}

/// The length that the client announces.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read<'a>(
    budget: &'a Budget,
    headers: &HeaderMap,
    mut body: axum::body::Body,
    limit: usize,
) -> Result<Body<'a>, BodyError> {
    if announced(headers).is_some_and(|length| length > limit)
        || body.size_hint().lower() > limit as u64
    {
        return Err(BodyError::TooLarge(limit));
    }
    let mut held: Option<SemaphorePermit<'a>> = None;
    let mut whole = BytesMut::new();
    let mut single = Bytes::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        if whole.len() + single.len() + data.len() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        let units = u32::try_from(data.len().div_ceil(UNIT)).map_err(|_| BodyError::Busy)?;
        let more = budget
            .0
            .try_acquire_many(units)
            .map_err(|_| BodyError::Busy)?;
        match &mut held {
            Some(permit) => permit.merge(more),
            None => held = Some(more),
        }
        // Most reviews arrive as one frame, which needs no copy.
        if whole.is_empty() && single.is_empty() {
            single = data;
        } else {
            if whole.is_empty() {
                whole.extend_from_slice(&std::mem::take(&mut single));
            }
            whole.extend_from_slice(&data);
        }
    }
    let bytes = if whole.is_empty() {
        single
    } else {
        whole.freeze()
    };
    Ok(Body { bytes, _held: held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    fn chunks(sizes: &[usize]) -> axum::body::Body {
        let parts: Vec<Result<Bytes, std::io::Error>> = sizes
            .iter()
            .map(|size| Ok(Bytes::from(vec![b'x'; *size])))
            .collect();
        axum::body::Body::from_stream(stream::iter(parts))
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit() {
        let budget = Budget::default();
        for (sizes, want) in [
            (&[][..], Ok(0)),
            (&[3][..], Ok(3)),
            (&[3, 0, 4, 3][..], Ok(10)),
            (&[3, 4, 4][..], Err(BodyError::TooLarge(10))),
            (&[11][..], Err(BodyError::TooLarge(10))),
        ] {
            let read = read(&budget, &HeaderMap::new(), chunks(sizes), 10).await;
            assert_eq!(read.map(|body| body.bytes.len()), want, "{sizes:?}");
        }
        assert_eq!(budget.0.available_permits(), BUDGET_BYTES / UNIT);
    }

    #[tokio::test]
    async fn an_announced_length_over_the_limit_is_refused_unread() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_LENGTH, http::HeaderValue::from_static("11"));
        let never =
            axum::body::Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let budget = Budget::default();
        let read = read(&budget, &headers, never, 10).await;
        assert_eq!(read.map(|_| ()), Err(BodyError::TooLarge(10)));
    }

    #[tokio::test]
    async fn all_bodies_share_one_budget() {
        let budget = Budget(Semaphore::new(2));
        let none = HeaderMap::new();
        let held = read(&budget, &none, chunks(&[1500]), 4096).await;
        assert!(held.is_ok());
        let refused = read(&budget, &none, chunks(&[1]), 4096).await;
        assert_eq!(refused.map(|_| ()), Err(BodyError::Busy));
        drop(held);
        assert!(read(&budget, &none, chunks(&[1]), 4096).await.is_ok());
    }
}
