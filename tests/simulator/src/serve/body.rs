//! The gRPC frame: one byte of flags, four of length, the message.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use futures::{Stream, StreamExt};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Frame;
use tonic::{Code, Status};

/// Body of every answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Takes the one message out of a request body.
pub fn unframe(body: &Bytes) -> Result<Bytes, Status> {
    let header = body
        .get(..5)
        .ok_or_else(|| Status::internal("request without a message"))?;
    if header[0] != 0 {
        return Err(Status::unimplemented("compressed requests are not spoken"));
    }
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    match body.get(5..5 + length) {
        Some(_) => Ok(body.slice(5..5 + length)),
        None => Err(Status::internal("request shorter than its frame says")),
    }
}

fn frame(message: &Bytes) -> Bytes {
    let mut out = BytesMut::with_capacity(message.len() + 5);
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(message);
    out.freeze()
}

/// An answer with messages; the status goes in the trailers. `done` learns how it ended.
pub fn messages(
    stream: impl Stream<Item = Result<Bytes, Status>> + Send + 'static,
    done: impl FnOnce(Code) + Send + 'static,
) -> Response<Body> {
    let mut done = Some(done);
    let frames = stream
        .map(Some)
        .chain(futures::stream::once(async { None }))
        .scan(false, move |ended, item| {
            if *ended {
                return futures::future::ready(None);
            }
            let frame = match item {
                Some(Ok(message)) => Frame::data(frame(&message)),
                Some(Err(status)) => {
                    *ended = true;
                    if let Some(done) = done.take() {
                        done(status.code());
                    }
                    Frame::trailers(trailers(&status))
                }
                None => {
                    *ended = true;
                    if let Some(done) = done.take() {
                        done(Code::Ok);
                    }
                    Frame::trailers(trailers(&Status::new(Code::Ok, "")))
                }
            };
            futures::future::ready(Some(Ok::<_, Infallible>(frame)))
        });
    respond(StreamBody::new(frames).boxed_unsync(), HeaderMap::new())
}

/// An answer that is only a status.
pub fn refusal(status: &Status) -> Response<Body> {
    respond(Empty::new().boxed_unsync(), trailers(status))
}

fn respond(body: Body, headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
        .headers_mut()
        .insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

fn trailers(status: &Status) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("grpc-status", HeaderValue::from(status.code() as i32));
    if status.code() != Code::Ok
        && let Ok(message) = HeaderValue::from_str(&percent_encode(status.message()))
    {
        headers.insert("grpc-message", message);
    }
    headers
}

fn percent_encode(message: &str) -> String {
    message
        .bytes()
        .map(|byte| match byte {
            b'%' => "%25".to_owned(),
            0x20..=0x7e => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
