//! The words of an expression, by CEL's own grammar.

use super::Wrong;

/// A word of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name; `in`, `true`, `false` and `null` are signs.
    Name(&'a str),
    /// A number such as 1.5.
    Double,
    /// A number such as 1, which may be the one that only stands behind a minus.
    Int { only_negative: bool },
    /// A number such as 1u.
    UInt,
    /// A text in quotes.
    Text,
    /// A text of bytes.
    Bytes,
    /// Everything else.
    Sign(&'static str),
    /// The end of the expression.
    End,
}

const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", "{", "}", ".", ",", "-",
    "?", ":", "+", "*", "/", "%", "=",
];
const KEYWORDS: [&str; 4] = ["in", "true", "false", "null"];

/// The first word of `text[from..]`, where it begins and where it ends.
pub(super) fn next(text: &str, from: usize) -> Result<(Token<'_>, usize, usize), Wrong> {
    let at = skip(text, from);
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, at, at));
    };
    let (token, length) = if let Some(quote) = quoted(rest) {
        let kind = if quote.is_bytes {
            Token::Bytes
        } else {
            Token::Text
        };
        (kind, quote.length(rest, at)?)
    } else if first.is_ascii_digit() || (first == '.' && starts_with_digit(&rest[1..])) {
        number(rest, at)?
    } else if first.is_ascii_alphabetic() || first == '_' {
        let length = run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = &rest[..length];
        let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == name);
        (keyword.map_or(Token::Name(name), Token::Sign), length)
    } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        if sign == "=" {
            return Err(Wrong::new(at, "\"=\" compares nothing: write =="));
        }
        (Token::Sign(sign), sign.len())
    } else {
        let why = match first {
            '&' => "\"&\" joins nothing: write &&".to_owned(),
            '|' => "\"|\" joins nothing: write ||".to_owned(),
            other => format!("{other:?} does not belong into an expression"),
        };
        return Err(Wrong::new(at, why));
    };
    Ok((token, at, at + length))
}

/// Behind white space and comments.
fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let white = run(rest, |byte| {
            matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0c)
        });
        let comment = if rest[white..].starts_with("//") {
            rest[white..].find('\n').unwrap_or(rest.len() - white)
        } else {
            0
        };
        if white + comment == 0 {
            return at;
        }
        at += white + comment;
    }
}

/// How many bytes at the beginning are such.
fn run(text: &str, is_such: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is_such(*byte)).count()
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|sign: char| sign.is_ascii_digit())
}

fn number(text: &str, at: usize) -> Result<(Token<'static>, usize), Wrong> {
    let too_large = || Wrong::new(at, "the number is too large");
    let unsigned = |end: usize| text[end..].starts_with(['u', 'U']);
    let whole = |digits: &str, radix, end: usize| {
        let value = u64::from_str_radix(digits, radix).map_err(|_| too_large())?;
        match (unsigned(end), i64::try_from(value)) {
            (true, _) => Ok((Token::UInt, end + 1)),
            (false, Ok(_)) => Ok((
                Token::Int {
                    only_negative: false,
                },
                end,
            )),
            (false, Err(_)) if value == 1 << 63 => Ok((
                Token::Int {
                    only_negative: true,
                },
                end,
            )),
            (false, Err(_)) => Err(too_large()),
        }
    };
    if let Some(hex) = text.strip_prefix("0x") {
        let digits = run(hex, |byte| byte.is_ascii_hexdigit());
        if digits > 0 {
            return whole(&hex[..digits], 16, 2 + digits);
        }
    }
    let digits = |from: usize| from + run(&text[from..], |byte| byte.is_ascii_digit());
    let integer = digits(0);
    let mut end = integer;
    if text[end..].starts_with('.') && starts_with_digit(&text[end + 1..]) {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
        if starts_with_digit(&text[sign..]) {
            end = digits(sign);
        }
    }
    if end == integer {
        return whole(&text[..integer], 10, integer);
    }
    match text[..end].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Double, end)),
        _ => Err(too_large()),
    }
}

/// How a text in quotes begins.
struct Quote {
    is_raw: bool,
    is_bytes: bool,
    /// Length of the letters before the quote.
    letters: usize,
    /// The quote, once or three times.
    mark: &'static str,
}

fn quoted(text: &str) -> Option<Quote> {
    let is_bytes = text.starts_with(['b', 'B']);
    let is_raw = text[usize::from(is_bytes)..].starts_with(['r', 'R']);
    let letters = usize::from(is_bytes) + usize::from(is_raw);
    let marks = ["\"\"\"", "'''", "\"", "'"];
    let mark = marks
        .into_iter()
        .find(|mark| text[letters..].starts_with(mark))?;
    Some(Quote {
        is_raw,
        is_bytes,
        letters,
        mark,
    })
}

impl Quote {
    /// The length of all of it.
    fn length(&self, text: &str, at: usize) -> Result<usize, Wrong> {
        let mut end = self.letters + self.mark.len();
        loop {
            let rest = &text[end..];
            if rest.starts_with(self.mark) {
                return Ok(end + self.mark.len());
            }
            match rest.chars().next() {
                Some('\n' | '\r') | None if self.mark.len() == 1 || rest.is_empty() => {
                    return Err(Wrong::unclosed(at + self.letters, "quote"));
                }
                Some('\\') if !self.is_raw => end += self.escape(rest, at + end)?,
                sign => end += sign.map_or(0, char::len_utf8),
            }
        }
    }

    /// The length of what a backslash begins.
    fn escape(&self, text: &str, at: usize) -> Result<usize, Wrong> {
        let hex = |from: usize, digits: usize| {
            let digits = text.get(from..from + digits)?;
            u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let is_code = |code: Option<u32>| {
            code.is_some_and(|code| self.is_bytes || char::from_u32(code).is_some())
        };
        let length = match text.as_bytes().get(1) {
            Some(
                b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\' | b'"' | b'\'' | b'`' | b'?',
            ) => Some(2),
            Some(b'x' | b'X') => hex(2, 2).map(|_| 4),
            Some(b'u') => (is_code(hex(2, 4)) && !self.is_bytes).then_some(6),
            Some(b'U') => (is_code(hex(2, 8)) && !self.is_bytes).then_some(10),
            Some(b'0'..=b'3') => {
                let digits = text.as_bytes().get(2..4);
                digits
                    .filter(|digits| digits.iter().all(|byte| (b'0'..=b'7').contains(byte)))
                    .map(|_| 4)
            }
            _ => None,
        };
        let why = "the backslash stands before nothing that it goes with: write two, or r before the text";
        length.ok_or_else(|| Wrong::new(at, why))
    }
}
