//! What a command writes for a person: lines of label, text and elapsed time. Colours only on a terminal,
//! and only on labels, so that no meaning hangs on them (UX).

use crate::actions::text::{columns, lay_out};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Columns of the labels.
const LABEL: usize = 10;
/// Columns of the text before the elapsed time.
const TEXT: usize = 68;
/// Columns of a text without elapsed time.
pub const WIDE: usize = 86;

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A label, a text, and the time since the step began where that is known.
    Step(Label, String, Option<Duration>),
    /// Text as it is, such as a block that was laid out already.
    Plain(String),
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Request,
    Inspect,
    Wait,
    Waiting,
    Reset,
    Etcd,
    Reboot,
    Done,
    Warning,
    Refused,
    Failed,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Inspect => "inspect",
            Self::Wait => "wait",
            Self::Waiting => "waiting",
            Self::Reset => "reset",
            Self::Etcd => "etcd",
            Self::Reboot => "reboot",
            Self::Done => "done",
            Self::Warning => "warning",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// The colour as the number of its escape sequence.
    fn colour(self) -> Option<&'static str> {
        match self {
            Self::Done => Some("32"),
            Self::Warning | Self::Waiting => Some("33"),
            Self::Refused | Self::Failed => Some("31"),
            Self::Request
            | Self::Inspect
            | Self::Wait
            | Self::Reset
            | Self::Etcd
            | Self::Reboot => None,
        }
    }
}

impl Line {
    /// A step without a time.
    pub fn step(label: Label, text: impl Into<String>) -> Self {
        Self::Step(label, text.into(), None)
    }

    /// The text of the line, with line breaks between its parts.
    pub fn render(&self, colours: bool) -> String {
        let (label, text, elapsed) = match self {
            Self::Plain(text) => return text.clone(),
            Self::Step(label, text, elapsed) => (label, text, elapsed),
        };
        let mut parts = lay_out(text, if elapsed.is_some() { TEXT } else { WIDE });
        if let (Some(elapsed), Some(last)) = (elapsed, parts.last_mut()) {
            let gap = TEXT.saturating_sub(columns(last));
            *last = format!("{last}{:gap$}{:>4}", "", clock(*elapsed));
        }
        let word = label.word();
        let gap = LABEL - columns(word);
        let head = match label.colour() {
            Some(colour) if colours => format!("\u{1b}[{colour}m{word}\u{1b}[0m{:gap$}", ""),
            _ => format!("{word}{:gap$}", ""),
        };
        let indent = format!("\n{:LABEL$}", "");
        format!("{head}{}", parts.join(&indent))
            .trim_end()
            .to_owned()
    }
}

/// `1:34`, `1:02:03`.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Where the lines go: standard output, or standard error when an object is asked for with `-o`.
pub struct Screen {
    to_stderr: bool,
    colours: bool,
    spinner: Option<ProgressBar>,
}

impl Screen {
    /// A screen; with `objects_on_stdout` people read standard error.
    pub fn new(objects_on_stdout: bool) -> Self {
        let terminal = if objects_on_stdout {
            std::io::stderr().is_terminal()
        } else {
            std::io::stdout().is_terminal()
        };
        Self {
            to_stderr: objects_on_stdout,
            colours: terminal && colours_wanted(|name| std::env::var(name).ok()),
            spinner: (terminal && std::io::stderr().is_terminal()).then(ProgressBar::hidden),
        }
    }

    /// Writes the lines.
    pub fn say(&mut self, lines: &[Line]) -> std::io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.rest();
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.render(self.colours));
            text.push('\n');
        }
        self.write(&text)
    }

    /// Writes a question, to be answered on the same line.
    pub fn ask(&mut self, question: &str) -> std::io::Result<()> {
        self.rest();
        self.write(question)
    }

    /// Shows that something is being waited for, on a terminal.
    pub fn wait(&mut self, what: &'static str) {
        let Some(spinner) = &mut self.spinner else {
            return;
        };
        if spinner.is_hidden() || spinner.is_finished() {
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
            *spinner = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            spinner.enable_steady_tick(Duration::from_millis(200));
        }
        spinner.set_message(what);
    }

    /// Takes the spinner away.
    pub fn rest(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        if self.to_stderr {
            std::io::stderr().write_all(text.as_bytes())
        } else {
            let mut out = std::io::stdout();
            out.write_all(text.as_bytes())?;
            out.flush()
        }
    }
}

/// Whether a terminal is to be coloured: `NO_COLOR` speaks against it with any value but the empty one
/// (no-color.org), and so does a terminal that cannot.
fn colours_wanted(variable: impl Fn(&str) -> Option<String>) -> bool {
    let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = variable("TERM").is_some_and(|term| term == "dumb");
    !no_color && !dumb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_line_up() {
        let lines = [
            Line::step(
                Label::Request,
                "machinereclaim/reclaim-x7k2p created as alice",
            ),
            Line::Step(
                Label::Reset,
                "sent (graceful)".to_owned(),
                Some(Duration::ZERO),
            ),
            Line::Step(
                Label::Wait,
                "in maintenance mode, same UUID, serial and MACs".to_owned(),
                Some(Duration::from_secs(94)),
            ),
            Line::step(
                Label::Refused,
                "10.5.0.9 is the approved machine 4c4c4544-0042-3510-8052-b4c04f463133 (worker-3) of cluster prod. \
                 Use Remove node: ichor node remove worker-3",
            ),
        ];
        let text = lines.map(|line| line.render(false)).join("\n");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn colours_add_nothing_but_colour() {
        let line = Line::step(Label::Done, "Kubernetes node worker-7 deleted");
        let coloured = line.render(true);
        assert_eq!(
            coloured.replace("\u{1b}[32m", "").replace("\u{1b}[0m", ""),
            line.render(false)
        );
    }

    #[test]
    fn no_color_and_dumb_terminals_are_honoured() {
        for (no_color, term, want) in [
            (None, Some("xterm"), true),
            (Some("1"), Some("xterm"), false),
            (Some(""), Some("xterm"), true),
            (None, Some("dumb"), false),
            (None, None, true),
        ] {
            let variable = |name: &str| match name {
                "NO_COLOR" => no_color.map(str::to_owned),
                _ => term.map(str::to_owned),
            };
            assert_eq!(colours_wanted(variable), want, "{no_color:?} {term:?}");
        }
    }

    #[test]
    fn elapsed_times_read_like_a_clock() {
        for (seconds, want) in [(0, "0:00"), (21, "0:21"), (94, "1:34"), (3723, "1:02:03")] {
            assert_eq!(clock(Duration::from_secs(seconds)), want);
        }
    }
}
