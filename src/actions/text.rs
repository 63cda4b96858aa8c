//! Texts for people: what machines and objects say is made safe for a terminal, and long sentences are laid
//! out so that a command in them stays whole.

/// Columns of a line of prose.
pub const WIDTH: usize = 88;

/// The programs whose commands are never broken over lines.
const PROGRAMS: [&str; 3] = ["ichor ", "kubectl ", "talosctl "];

/// The text without anything that steers a terminal: a hostname or product name comes from the machine, and
/// a machine may be hostile. Control characters and those that change the direction of writing become `?`;
/// line breaks stay.
pub fn clean(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => '?',
        c if c.is_control() => '?',
        c => c,
    };
    text.chars().map(harmless).collect()
}

/// Lays a text out in lines of at most `width` columns. A command at the end of a paragraph that does not
/// fit goes on a line of its own, indented by two and never broken, so that it can be copied.
pub fn lay_out(text: &str, width: usize) -> Vec<String> {
    clean(text)
        .lines()
        .flat_map(|paragraph| lay_out_paragraph(paragraph.trim_end(), width))
        .collect()
}

fn lay_out_paragraph(paragraph: &str, width: usize) -> Vec<String> {
    if columns(paragraph) <= width || is_command(paragraph) {
        return vec![paragraph.to_owned()];
    }
    let Some((prose, command)) = split_command(paragraph) else {
        return wrap(paragraph, width);
    };
    let mut lines = wrap(prose, width);
    lines.push(format!("  {command}"));
    lines
}

/// Splits `do this: ichor …` before the command, keeping the colon with the prose.
fn split_command(paragraph: &str) -> Option<(&str, &str)> {
    paragraph.match_indices(": ").find_map(|(at, _)| {
        let (prose, rest) = paragraph.split_at(at + 1);
        let command = rest.trim_start();
        is_command(command).then_some((prose, command))
    })
}

fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    PROGRAMS.iter().any(|program| text.starts_with(program))
}

/// Breaks prose at spaces; a word longer than a line stays whole.
fn wrap(prose: &str, width: usize) -> Vec<String> {
    let indent = prose.len() - prose.trim_start().len();
    let mut lines: Vec<String> = Vec::new();
    let mut line = " ".repeat(indent);
    for word in prose.split_whitespace() {
        let empty = line.trim().is_empty();
        if !empty && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !empty {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Joins what happened in one line where that fits. Otherwise each goes on a line of its own, so that a command
/// at the end of one is not taken for part of the next.
pub fn join(parts: &[&str], width: usize) -> String {
    let line = parts.join("; ");
    if columns(&line) <= width && split_command(&line).is_none() {
        line
    } else {
        line.replace("; ", "\n")
    }
}

/// Columns that a text takes; every character of our texts takes one.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_machine_says_steers_the_terminal() {
        for (given, want) in [
            ("worker-7", "worker-7"),
            ("\u{1b}[2Jworker", "?[2Jworker"),
            ("a\rb\u{7}c\tz", "a?b?c?z"),
            ("\u{202e}7-rekrow", "?7-rekrow"),
            ("two\nlines", "two\nlines"),
            ("größe ✓", "größe ✓"),
        ] {
            assert_eq!(clean(given), want, "{given:?}");
        }
    }

    #[test]
    fn a_command_stays_whole() {
        let warning = "this machine still runs the configuration of prod. To keep it instead: \
                       ichor adopt --cluster prod --add-machine 10.5.0.7";
        assert_eq!(
            lay_out(warning, 72),
            [
                "this machine still runs the configuration of prod. To keep it instead:",
                "  ichor adopt --cluster prod --add-machine 10.5.0.7",
            ]
        );
    }

    #[test]
    fn a_command_on_its_own_line_is_never_broken() {
        let text = "Go on with\n  kubectl patch machinereclaim x --type merge";
        assert_eq!(
            lay_out(text, 20),
            [
                "Go on with",
                "  kubectl patch machinereclaim x --type merge"
            ]
        );
    }

    #[test]
    fn short_texts_and_given_lines_stay_as_they_are() {
        assert_eq!(
            lay_out("Use Remove node:  ichor node remove worker-3", 60),
            ["Use Remove node:  ichor node remove worker-3"]
        );
        assert_eq!(lay_out("one\n  two", 60), ["one", "  two"]);
        assert_eq!(lay_out("", 60), Vec::<String>::new());
    }

    #[test]
    fn what_happened_is_one_line_unless_a_command_is_in_it() {
        for (parts, want) in [
            (vec!["node deleted", "added"], "node deleted; added"),
            (
                vec!["wiped; node deleted", "added to discovery"],
                "wiped\nnode deleted\nadded to discovery",
            ),
            (
                vec!["node left: kubectl x", "added"],
                "node left: kubectl x\nadded",
            ),
        ] {
            assert_eq!(join(&parts, 24), want);
        }
    }

    #[test]
    fn prose_breaks_at_spaces() {
        assert_eq!(
            lay_out("aaa bbb ccc https://10.5.0.2:6443/healthz d", 11),
            ["aaa bbb ccc", "https://10.5.0.2:6443/healthz", "d"]
        );
    }
}
