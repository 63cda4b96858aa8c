//! Calls of functions and macros.

use super::Wrong;
use super::lexer::Token;
use super::parser::{Parser, Part, truth};
use super::types::{self, Call, Type};

/// Words that can be no name.
const RESERVED: [&str; 16] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];

impl<'a> Parser<'a> {
    /// A call, whose name was read; the bracket comes next.
    pub(super) fn call(
        &mut self,
        name: &'a str,
        at: usize,
        on: Option<&Part>,
    ) -> Result<Part, Wrong> {
        let opened = self.at;
        self.advance()?;
        let begins = on.map_or(at, |on| on.at);
        let is = match (name, on) {
            ("has", None) => self.has(),
            ("all" | "exists" | "exists_one" | "map" | "filter", Some(on)) => self.each(name, on),
            _ => self.function(name, at, on.map(|on| &on.is)),
        }?;
        self.closes(opened, ")")?;
        Ok(Part::new(is, begins))
    }

    fn has(&mut self) -> Result<Type, Wrong> {
        let field = self.expression()?;
        if field.is_field {
            return Ok(Type::Bool);
        }
        Err(Wrong::new(
            field.at,
            "has() asks for a field, as in has(disk.model)",
        ))
    }

    fn function(&mut self, name: &str, at: usize, on: Option<&Type>) -> Result<Type, Wrong> {
        let given = self.arguments()?;
        match types::function(name, on, &given) {
            Call::Gives(is) => Ok(is),
            Call::Misused => Err(misused(at, name, on, &given)),
            Call::Unknown => Err(Wrong::new(at, format!("there is no function {name:?}"))),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Type>, Wrong> {
        let mut given = Vec::new();
        if self.is(")") {
            return Ok(given);
        }
        loop {
            given.push(self.expression()?.is);
            if !self.takes(",")? {
                return Ok(given);
            }
        }
    }

    /// A macro over the elements of a list or the keys of a map.
    fn each(&mut self, name: &str, over: &Part) -> Result<Type, Wrong> {
        let element = match &over.is {
            Type::List(of) => of.as_ref().clone(),
            Type::Map(entry) => entry.0.clone(),
            Type::Dyn | Type::Unsure => Type::Unsure,
            other => {
                return Err(Wrong::new(
                    over.at,
                    format!("{name}() goes through a list, and this is a {other}"),
                ));
            }
        };
        let Token::Name(variable) = self.token else {
            return Err(self.unexpected());
        };
        if RESERVED.contains(&variable) {
            return Err(self.unexpected());
        }
        self.advance()?;
        if !self.takes(",")? {
            return Err(self.unexpected());
        }
        self.names.push((variable, element.clone()));
        self.behind_macro = true;
        let first = self.expression()?;
        let result = if name == "map" {
            let of = if self.takes(",")? {
                truth(&first)?;
                self.expression()?
            } else {
                first
            };
            types::list(of.is)
        } else {
            truth(&first)?;
            if name == "filter" {
                types::list(element)
            } else {
                Type::Bool
            }
        };
        self.names.pop();
        Ok(result)
    }
}

fn misused(at: usize, name: &str, on: Option<&Type>, given: &[Type]) -> Wrong {
    let given: Vec<String> = given.iter().map(|one| format!("a {one}")).collect();
    let given = if given.is_empty() {
        "nothing".to_owned()
    } else {
        given.join(" and ")
    };
    let on = on.map(|on| format!(" of a {on}")).unwrap_or_default();
    Wrong::new(at, format!("{name}(){on} does not take {given}"))
}
