//! Reads an expression by CEL's grammar and says at once what type each part has: no tree is kept.

use super::lexer::{self, Token};
use super::types::{self, FIELDS, LISTS, Type, UNITS};
use super::{NESTED, Wrong};

/// Packages with types and values of their own, which are left to Talos.
const PACKAGES: [&str; 2] = ["google", "talos"];

/// Reads a whole expression.
pub(super) fn read(text: &str) -> Result<Type, Wrong> {
    let mut parser = Parser {
        text,
        token: Token::End,
        at: 0,
        end: 0,
        depth: 0,
        behind_macro: false,
        names: Vec::new(),
    };
    parser.advance()?;
    let part = parser.expression()?;
    match parser.token {
        Token::End => Ok(part.is),
        _ => Err(parser.unexpected()),
    }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    /// The word that comes next, where it begins and ends.
    pub(super) token: Token<'a>,
    pub(super) at: usize,
    end: usize,
    /// How many expressions this one is within.
    depth: usize,
    /// Whether a macro over elements has begun before: behind it, Talos's library puts numbers of all types in order.
    pub(super) behind_macro: bool,
    /// The names that macros give to elements, innermost last.
    pub(super) names: Vec<(&'a str, Type)>,
}

/// A part of an expression.
pub(super) struct Part {
    pub(super) is: Type,
    pub(super) at: usize,
    /// Whether it is a field of something, which has() asks about.
    pub(super) is_field: bool,
}

impl Part {
    pub(super) fn new(is: Type, at: usize) -> Self {
        Self {
            is,
            at,
            is_field: false,
        }
    }
}

impl<'a> Parser<'a> {
    pub(super) fn advance(&mut self) -> Result<(), Wrong> {
        (self.token, self.at, self.end) = lexer::next(self.text, self.end)?;
        Ok(())
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(it) if it == sign)
    }

    /// Goes on behind the sign where it comes next.
    pub(super) fn takes(&mut self, sign: &str) -> Result<bool, Wrong> {
        let there = self.is(sign);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Goes on behind what closes the bracket that was opened at `opened`.
    pub(super) fn closes(&mut self, opened: usize, sign: &str) -> Result<(), Wrong> {
        if self.takes(sign)? {
            Ok(())
        } else if self.token == Token::End {
            let bracket = format!("{:?}", &self.text[opened..=opened]);
            Err(Wrong::unclosed(opened, &bracket))
        } else {
            Err(self.unexpected())
        }
    }

    pub(super) fn unexpected(&self) -> Wrong {
        match &self.text[self.at..self.end] {
            "" => Wrong::new(self.at, "the expression ends where something has to follow"),
            word => Wrong::new(self.at, format!("{word:?} cannot stand here")),
        }
    }

    /// `or`, or `or ? or : expression`. What follows is split into small functions, because each expression within
    /// another needs their frames on the stack.
    pub(super) fn expression(&mut self) -> Result<Part, Wrong> {
        self.depth += 1;
        if self.depth > NESTED {
            return Err(too_deep(self.at));
        }
        let mut part = self.binary(0);
        if self.is("?") && part.is_ok() {
            part = self.choice(&part?);
        }
        self.depth -= 1;
        part
    }

    fn choice(&mut self, condition: &Part) -> Result<Part, Wrong> {
        truth(condition)?;
        self.advance()?;
        let yes = self.binary(0)?;
        if !self.takes(":")? {
            return Err(self.unexpected());
        }
        let no = self.expression()?;
        let why = format!("a choice between a {} and a {}", yes.is, no.is);
        let is = yes.is.join(&no.is).ok_or_else(|| Wrong::new(no.at, why))?;
        Ok(Part::new(is, condition.at))
    }

    /// Operators that bind at least as much as `least`, from the left.
    fn binary(&mut self, least: u8) -> Result<Part, Wrong> {
        let mut left = self.unary();
        while let Token::Sign(sign) = self.token
            && let Some(binds) = binds(sign).filter(|binds| *binds >= least)
            && left.is_ok()
        {
            left = self.operation(&left?, sign, binds);
        }
        left
    }

    fn operation(&mut self, left: &Part, sign: &str, binds: u8) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        let right = self.binary(binds + 1)?;
        let is = types::operator(sign, &left.is, &right.is);
        let loose = self.behind_macro && types::orders_numbers(sign, &left.is, &right.is);
        let is = is.or(loose.then_some(Type::Bool));
        let is = is.ok_or_else(|| mismatch(at, sign, &left.is, &right.is))?;
        Ok(Part::new(is, left.at))
    }

    fn unary(&mut self) -> Result<Part, Wrong> {
        if let Token::Sign(sign @ ("!" | "-")) = self.token {
            return self.signed(sign);
        }
        self.fits()?;
        self.member()
    }

    fn signed(&mut self, sign: &str) -> Result<Part, Wrong> {
        let (at, mut signs) = (self.at, 0);
        while self.takes(sign)? {
            signs += 1;
        }
        if sign != "-" || signs != 1 {
            self.fits()?;
        }
        let part = self.member()?;
        // Two cancel each other out, before anybody looks at what they stand before.
        if signs % 2 == 0 {
            return Ok(part);
        }
        let is = match (sign, part.is) {
            ("!", of) if of.may_be(&Type::Bool) => Type::Bool,
            ("-", of @ (Type::Int | Type::Double)) => of,
            ("-", Type::Dyn | Type::Unsure) => Type::Unsure,
            (_, of) => return Err(Wrong::new(at, format!("{sign:?} does not go with a {of}"))),
        };
        Ok(Part::new(is, at))
    }

    /// A number that only one minus makes small enough.
    fn fits(&self) -> Result<(), Wrong> {
        match self.token {
            Token::Int {
                only_negative: true,
            } => Err(Wrong::new(self.at, "the number is too large")),
            _ => Ok(()),
        }
    }

    fn member(&mut self) -> Result<Part, Wrong> {
        let mut part = self.primary();
        while part.is_ok() && (self.is("[") || self.is(".")) {
            part = self.suffix(part?);
        }
        part
    }

    fn suffix(&mut self, of: Part) -> Result<Part, Wrong> {
        if self.is("[") {
            self.index(&of)
        } else {
            self.select(of)
        }
    }

    fn index(&mut self, of: &Part) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        let by = self.expression()?;
        self.closes(at, "]")?;
        let why = format!("a {} has nothing at a {}", of.is, by.is);
        let is = types::index(&of.is, &by.is).ok_or_else(|| Wrong::new(at, why))?;
        Ok(Part::new(is, of.at))
    }

    fn select(&mut self, of: Part) -> Result<Part, Wrong> {
        self.advance()?;
        let Token::Name(name) = self.token else {
            return Err(self.unexpected());
        };
        let at = self.at;
        self.advance()?;
        if self.is("(") {
            self.call(name, at, Some(&of))
        } else {
            field(name, at, of)
        }
    }

    fn primary(&mut self) -> Result<Part, Wrong> {
        match self.token {
            Token::Sign("(") => self.nested(),
            Token::Sign("[") => self.list(),
            Token::Sign("{") => self.map(),
            Token::Sign(".") => self.absolute(),
            Token::Name(name) => self.name(name),
            _ => self.literal(),
        }
    }

    fn nested(&mut self) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        let inner = self.expression()?;
        self.closes(at, ")")?;
        Ok(Part::new(inner.is, inner.at))
    }

    fn absolute(&mut self) -> Result<Part, Wrong> {
        self.advance()?;
        match self.token {
            Token::Name(name) => self.name(name),
            _ => Err(self.unexpected()),
        }
    }

    fn literal(&mut self) -> Result<Part, Wrong> {
        // Behind "!", a minus belongs to the number; elsewhere it was read before.
        let at = self.at;
        if self.takes("-")? && !matches!(self.token, Token::Int { .. } | Token::Double) {
            return Err(self.unexpected());
        }
        let is = match self.token {
            Token::Int { .. } => Type::Int,
            Token::UInt => Type::UInt,
            Token::Double => Type::Double,
            Token::Text => Type::Text,
            Token::Bytes => Type::Bytes,
            Token::Sign("true" | "false") => Type::Bool,
            Token::Sign("null") => Type::Null,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(Part::new(is, at))
    }

    fn name(&mut self, name: &'a str) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        if self.is("(") {
            return self.call(name, at, None);
        }
        let given = self.names.iter().rev().find(|(given, _)| *given == name);
        let is = match given {
            Some((_, is)) => is.clone(),
            None if PACKAGES.contains(&name) => self.package()?,
            None => types::name(name).ok_or_else(|| unknown(name, at))?,
        };
        Ok(Part::new(is, at))
    }

    /// The rest of a name of a package, and what may stand in braces behind it.
    fn package(&mut self) -> Result<Type, Wrong> {
        while self.takes(".")? {
            let Token::Name(_) = self.token else {
                return Err(self.unexpected());
            };
            self.advance()?;
        }
        let opened = self.at;
        if self.takes("{")? {
            self.lone_comma(self.is(","))?;
            while let Token::Name(_) = self.token {
                self.advance()?;
                if !self.takes(":")? {
                    return Err(self.unexpected());
                }
                self.expression()?;
                if !self.takes(",")? {
                    break;
                }
            }
            self.closes(opened, "}")?;
        }
        Ok(Type::Unsure)
    }

    fn list(&mut self) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        let mut of = None;
        while !self.is("]") && !self.is(",") {
            let element = self.expression()?;
            of = Some(joined(of, element.is));
            if !self.takes(",")? {
                break;
            }
        }
        self.lone_comma(of.is_none())?;
        self.closes(at, "]")?;
        Ok(Part::new(types::list(of.unwrap_or(Type::Unsure)), at))
    }

    /// The comma that may stand behind the last element may stand alone.
    fn lone_comma(&mut self, is_empty: bool) -> Result<(), Wrong> {
        if is_empty {
            self.takes(",")?;
        }
        Ok(())
    }

    fn map(&mut self) -> Result<Part, Wrong> {
        let at = self.at;
        self.advance()?;
        let (mut keys, mut values) = (None, None);
        while !self.is("}") && !self.is(",") {
            keys = Some(joined(keys, self.expression()?.is));
            if !self.takes(":")? {
                return Err(self.unexpected());
            }
            values = Some(joined(values, self.expression()?.is));
            if !self.takes(",")? {
                break;
            }
        }
        self.lone_comma(keys.is_none())?;
        self.closes(at, "}")?;
        let (keys, values) = (keys.unwrap_or(Type::Unsure), values.unwrap_or(Type::Unsure));
        Ok(Part::new(types::map(keys, values), at))
    }
}

fn field(name: &str, at: usize, of: Part) -> Result<Part, Wrong> {
    let why = |of| match of {
        Type::Disk => {
            let fields = FIELDS.iter().map(|(field, _)| *field).chain(LISTS);
            let fields: Vec<&str> = fields.collect();
            format!("a disk has no field {name:?}, only {}", fields.join(", "))
        }
        other => format!("a {other} has no field {name:?}"),
    };
    let is = types::field(of.is, name).map_err(|of| Wrong::new(at, why(of)))?;
    Ok(Part {
        is,
        at: of.at,
        is_field: true,
    })
}

fn too_deep(at: usize) -> Wrong {
    Wrong::new(
        at,
        format!("more than {NESTED} expressions are within each other"),
    )
}

fn binds(sign: &str) -> Option<u8> {
    match sign {
        "||" => Some(0),
        "&&" => Some(1),
        "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" => Some(2),
        "+" | "-" => Some(3),
        "*" | "/" | "%" => Some(4),
        _ => None,
    }
}

fn joined(of: Option<Type>, element: Type) -> Type {
    match of {
        None => element,
        Some(of) => of.join(&element).unwrap_or(Type::Unsure),
    }
}

pub(super) fn truth(part: &Part) -> Result<(), Wrong> {
    if part.is.may_be(&Type::Bool) {
        return Ok(());
    }
    Err(Wrong::new(
        part.at,
        format!("this is a {} and has to be true or false", part.is),
    ))
}

fn mismatch(at: usize, sign: &str, left: &Type, right: &Type) -> Wrong {
    let help = match (left, right) {
        (Type::UInt, Type::Int) | (Type::Int, Type::UInt) => {
            ": sizes are uint, so write a number as 100u"
        }
        _ => "",
    };
    Wrong::new(
        at,
        format!("{sign:?} does not go between a {left} and a {right}{help}"),
    )
}

fn unknown(name: &str, at: usize) -> Wrong {
    let units = UNITS.join(", ");
    Wrong::new(
        at,
        format!("{name:?} is not known: there are disk, system_disk and the units {units}"),
    )
}
