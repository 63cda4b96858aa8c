//! The expression by which a volume selects disks: CEL as Talos reads it (its library's environment for disks, 1.13). It is
//! judged here, so that a mistake is told to who made it and not by a machine later; `oracle.rs` compares the verdicts
//! with Talos's own. The crate `cel` would read the syntax, but knows no types, keeps no places and cannot bound its depth
//! by a public setting. What Talos takes is never refused. Talos refuses a little more, which is left to it:
//!
//! - names below the packages `google` and `talos`, and types that depend on `dyn`, on a list of several types or
//!   on one that is very long, are not followed,
//! - operators in a chain of more than 250,
//! - a field, function or unit that is newer than the Talos of the cluster.

mod calls;
mod lexer;
#[cfg(test)]
mod oracle;
mod parser;
#[cfg(test)]
mod tests;
mod types;

use types::Type;

/// Expressions within each other that Talos takes at most.
const NESTED: usize = 250;

/// What is wrong with an expression, and where.
#[derive(Debug)]
struct Wrong {
    /// Where, in bytes.
    at: usize,
    why: String,
}

impl Wrong {
    fn new(at: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { at, why }
    }

    fn unclosed(at: usize, what: &str) -> Self {
        Self::new(at, format!("nothing closes this {what}"))
    }
}

/// What is wrong with an expression, if anything.
pub(super) fn wrong(expression: &str) -> Option<String> {
    let wrong = match parser::read(expression) {
        Ok(Type::Bool | Type::Unsure) => return None,
        Ok(other) => {
            let why = format!(
                "gives a {other}, and has to be true or false for a disk: compare it, as in disk.size > 100u * GB"
            );
            return Some(why);
        }
        Err(wrong) => wrong,
    };
    let before = expression.get(..wrong.at).unwrap_or(expression);
    Some(format!(
        "at character {}: {}",
        before.chars().count() + 1,
        wrong.why
    ))
}
