//! URLs: what Go's parser refuses, and how two of them merge.

/// Go's parser of URLs refuses little: control characters, half escapes, a scheme that is none, a port that is none.
pub(super) fn is_url(text: &str) -> bool {
    let escapes = || {
        text.match_indices('%').all(|(at, _)| {
            let digits = text.as_bytes().get(at + 1..at + 3);
            digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
        })
    };
    let parts = UrlParts::of(text);
    let scheme = match text.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it))
        }
        _ => true,
    };
    let host = parts.host.rsplit('@').next().unwrap_or_default();
    let port = match host.rsplit_once(':') {
        Some((before, port)) if !before.contains(':') || before.ends_with(']') => {
            port.bytes().all(|it| it.is_ascii_digit())
        }
        _ => true,
    };
    !text.chars().any(|it| it.is_ascii_control())
        && !parts.host.contains(' ')
        && escapes()
        && scheme
        && port
}

/// A URL in the parts of which Talos merges each on its own: one that is empty leaves the old one as it was.
struct UrlParts<'a> {
    scheme: &'a str,
    host: &'a str,
    path: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> UrlParts<'a> {
    fn of(text: &'a str) -> Self {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (host, path) = match rest {
            rest if scheme.is_empty() => ("", rest),
            rest => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        };
        Self {
            scheme,
            host,
            path,
            query,
            fragment,
        }
    }
}

/// The URL that two give when they are merged.
pub(crate) fn merge_urls(left: &str, right: &str) -> String {
    let (left, right) = (UrlParts::of(left), UrlParts::of(right));
    let pick = |left: &str, right: &str| if right.is_empty() { left } else { right }.to_owned();
    let mut url = pick(left.scheme, right.scheme);
    if !url.is_empty() {
        url += "://";
    }
    url += &pick(left.host, right.host);
    url += &pick(left.path, right.path);
    for (mark, left, right) in [
        ('?', left.query, right.query),
        ('#', left.fragment, right.fragment),
    ] {
        let part = pick(left, right);
        if !part.is_empty() {
            url.push(mark);
            url += &part;
        }
    }
    url
}
