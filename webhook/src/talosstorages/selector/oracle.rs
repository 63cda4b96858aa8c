//! The verdicts beside Talos's own (DESIGN section 16, "Oracle").

use super::types::{FIELDS, LISTS, UNITS};
use super::wrong;
use ichor_ground::oracle;

/// Numbers that look thrown and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// An expression that is `kind`, as a rule.
    fn expression(&mut self, kind: usize, deep: usize) -> String {
        let kind = if self.below(40) == 0 {
            self.below(6)
        } else {
            kind
        };
        if deep == 0 || self.below(4) == 0 {
            return self.leaf(kind);
        }
        let inner = |dice: &mut Self, kind| dice.expression(kind, deep - 1);
        match kind {
            0 => {
                let same = self.below(5);
                let (a, b) = (inner(self, same), inner(self, same));
                match self.below(9) {
                    0 => format!("!{}", inner(self, 0)),
                    1 => format!("({})", inner(self, 0)),
                    2 | 3 => format!(
                        "{} {} {}",
                        inner(self, 0),
                        self.of(&["&&", "||"]),
                        inner(self, 0)
                    ),
                    4 => format!("{a} {} {b}", self.of(&["==", "!="])),
                    5 => format!("{a} {} {b}", self.of(&["<", "<=", ">", ">="])),
                    6 => format!(
                        "{}.{}({})",
                        inner(self, 3),
                        self.of(&["contains", "startsWith", "endsWith", "matches"]),
                        inner(self, 3)
                    ),
                    7 => format!("{} in {}", inner(self, 3), inner(self, 5)),
                    _ => format!(
                        "{}.{}(x, {})",
                        inner(self, 5),
                        self.of(&["all", "exists", "exists_one"]),
                        inner(self, 0)
                    ),
                }
            }
            1 | 2 | 4 => match self.below(5) {
                0 => format!(
                    "{}({})",
                    self.of(&["uint", "int", "double"]),
                    inner(self, kind)
                ),
                1 => format!("size({})", inner(self, 3 + 2 * (kind % 2))),
                2 => format!("-{}", inner(self, kind)),
                _ => format!(
                    "{} {} {}",
                    inner(self, kind),
                    self.of(&["+", "-", "*", "/", "%"]),
                    inner(self, kind)
                ),
            },
            3 => match self.below(3) {
                0 => format!("string({})", inner(self, kind % 3)),
                1 => format!(
                    "{} ? {} : {}",
                    inner(self, 0),
                    inner(self, 3),
                    inner(self, 3)
                ),
                _ => format!("{} + {}", inner(self, 3), inner(self, 3)),
            },
            _ => match self.below(4) {
                0 => format!("[{}, {}]", inner(self, 3), inner(self, 3)),
                1 => format!("{}.filter(x, {})", inner(self, 5), inner(self, 0)),
                2 => format!("{}.map(x, {})", inner(self, 5), inner(self, 3)),
                _ => format!("{{{}: {}}}", inner(self, 3), inner(self, 1)),
            },
        }
    }

    fn leaf(&mut self, kind: usize) -> String {
        match (kind, self.below(3)) {
            (0, 0) => "system_disk".to_owned(),
            (0, 1) => self.field("bool"),
            (0, _) => self.of(&["true", "false"]).to_owned(),
            (1, 0) => self.of(&UNITS).to_owned(),
            (1, 1) => self.field("uint"),
            (1, _) => self.of(&["1u", "0x1fu", "100u"]).to_owned(),
            (2, 0) => self
                .of(&["9223372036854775807", "-9223372036854775808"])
                .to_owned(),
            (2, _) => self.of(&["1", "-1", "0xf"]).to_owned(),
            (3, 0) => self.field("string"),
            (3, 1) => self.of(&["x", "null", "b'a'"]).to_owned(),
            (3, _) => self
                .of(&["'a'", "\"nvme\"", "r'\\d'", "'''a'b'''", "'\\n\\x41'"])
                .to_owned(),
            (4, _) => self.of(&["1.5", ".5", "1e9", "2.5E-3"]).to_owned(),
            _ => format!("disk.{}", self.of(&LISTS)),
        }
    }

    fn field(&mut self, is: &str) -> String {
        let such = FIELDS.iter().filter(|(_, its)| its.to_string() == is);
        let names: Vec<&str> = such.map(|(name, _)| *name).collect();
        format!("disk.{}", self.of(&names))
    }

    /// Words in any order.
    fn soup(&mut self) -> String {
        const WORDS: [&str; 44] = [
            "disk",
            "disk.size",
            "disk.model",
            "system_disk",
            "true",
            "null",
            "1",
            "1u",
            "1.5",
            "'a'",
            "b'a'",
            "GB",
            "x",
            "==",
            "!=",
            "<",
            ">=",
            "&&",
            "||",
            "in",
            "+",
            "-",
            "*",
            "!",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ".",
            ",",
            "?",
            ":",
            "size(",
            "has(",
            ".all(x,",
            ".map(x,",
            "int(",
            "type(",
            "uint",
            "for",
            "//",
            "\n",
        ];
        let words: Vec<&str> = (0..=self.below(8)).map(|_| self.of(&WORDS)).collect();
        words.join(self.of(&["", " "]))
    }
}

/// Expressions, one a line.
const WRITTEN: &str = include_str!("corpus.txt");

/// Whether Talos refuses for a reason that the module names as left to it.
fn is_left_to_talos(expression: &str, why: &str) -> bool {
    let names = ["dyn(", "google", "talos."];
    names.iter().any(|name| expression.contains(name))
        || why.contains("dyn")
        || why.contains("recursion depth exceeded")
}

#[tokio::test]
async fn talos_own_library_takes_no_selector_that_is_refused_here() {
    let mut all: Vec<String> = WRITTEN.lines().map(str::to_owned).collect();
    all.push("'a\n' == ''".to_owned());
    all.push("'''a\n''' == ''".to_owned());
    for (name, _) in FIELDS {
        all.extend(
            ["1u", "1", "'a'", "true", "null"].map(|value| format!("disk.{name} == {value}")),
        );
    }
    all.extend(UNITS.map(|unit| format!("disk.size / {unit} > 1u")));
    all.push(format!("{}true{}", "(".repeat(249), ")".repeat(249)));
    all.push(format!("{}1 == 1", "1 + ".repeat(250)));
    all.push(format!("{}true", "true && ".repeat(120)));
    let mut dice = Dice(0x1c0f);
    all.extend((0..4000).map(|_| dice.expression(0, 4)));
    all.extend((0..4000).map(|_| dice.soup()));
    all.retain(|text| (1..=1024).contains(&text.chars().count()));

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_vec(&all).unwrap()).unwrap();
    let (_, said) = oracle::ask(&["check-selectors", "--file", file.path().to_str().unwrap()])
        .await
        .unwrap();
    let said: Vec<String> = serde_json::from_value(said).unwrap();
    assert_eq!(said.len(), all.len());
    let (mut differ, mut taken, mut left) = (Vec::new(), 0, 0);
    for (text, talos) in all.iter().zip(&said) {
        match (wrong(text), talos.as_str()) {
            (None, "") => taken += 1,
            (Some(_), why) if !why.is_empty() => {}
            (None, why) if is_left_to_talos(text, why) => left += 1,
            (None, why) => differ.push(format!("taken here: {text}\n  Talos: {why}")),
            (Some(why), _) => differ.push(format!("refused here: {text}\n  {why}")),
        }
    }
    println!(
        "{} expressions, {taken} taken by both, {left} left to Talos",
        all.len()
    );
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ[..differ.len().min(30)].join("\n")
    );
    assert!(
        taken > all.len() / 5 && left < all.len() / 50,
        "{taken} taken, {left} left of {}",
        all.len()
    );
}
