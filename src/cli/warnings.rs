//! Warnings of admission, as kubectl prints them: the API server sends them in `Warning` headers (RFC 7234
//! section 5.5), which the client library does not show.

use http::header::WARNING;
use http::{HeaderMap, Response};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Prints each warning once, however often the API server repeats it.
#[derive(Debug, Default)]
pub struct Warnings {
    printed: Mutex<BTreeSet<String>>,
}

impl Warnings {
    /// Prints what is new in the response on standard error.
    pub fn print<B>(&self, response: Response<B>) -> Response<B> {
        for text in texts(response.headers()) {
            let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
            if printed.insert(text.clone()) {
                eprintln!("Warning: {text}");
            }
        }
        response
    }
}

/// The texts of the `Warning` headers: `299 - "text"`, as the API server writes them.
fn texts(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(WARNING).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .filter_map(|value| value.strip_prefix("299 "))
        .filter_map(|value| value.split_once(" \""))
        .map(|(_agent, quoted)| unquote(quoted))
        .collect()
}

/// The rest of a quoted string up to its closing quote; a backslash stands before a character that is meant.
fn unquote(quoted: &str) -> String {
    let mut text = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    crate::actions::text::clean(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn warning_headers_are_read_as_the_api_server_writes_them() {
        let mut headers = HeaderMap::new();
        for value in [
            r#"299 - "spec.force has no effect""#,
            r#"299 kube-apiserver/1.37 "name \"prd\" is \\ not it" "Mon, 30 Nov 2026 00:00:00 GMT""#,
            "199 - \"not from admission\"",
            "299 -",
        ] {
            headers.append(WARNING, HeaderValue::from_static(value));
        }
        assert_eq!(
            texts(&headers),
            ["spec.force has no effect", r#"name "prd" is \ not it"#]
        );
    }
}
