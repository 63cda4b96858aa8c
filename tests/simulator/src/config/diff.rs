//! The unified diff a dry run shows, three lines of context as Talos has it.

const CONTEXT: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Keep,
    Delete,
    Insert,
}

/// `No changes.`, or a unified diff between `a` and `b`.
pub fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    if edits.iter().all(|(edit, _)| *edit == Edit::Keep) {
        return "No changes.".to_owned();
    }
    let mut out = "--- a\n+++ b\n".to_owned();
    for (start, end) in hunks(&edits) {
        hunk(&edits, start, end, &mut out);
    }
    out
}

/// Longest common subsequence; configurations are a few hundred lines.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Edit, &'a str)> {
    let mut longest = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = if old[i] == new[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            found.push((Edit::Keep, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || longest[i + 1][j] >= longest[i][j + 1]) {
            found.push((Edit::Delete, old[i]));
            i += 1;
        } else {
            found.push((Edit::Insert, new[j]));
            j += 1;
        }
    }
    found
}

/// Ranges of edits that belong together, with their context.
fn hunks(edits: &[(Edit, &str)]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (index, _) in edits
        .iter()
        .enumerate()
        .filter(|(_, (edit, _))| *edit != Edit::Keep)
    {
        let (start, end) = (
            index.saturating_sub(CONTEXT),
            (index + CONTEXT + 1).min(edits.len()),
        );
        match found.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => found.push((start, end)),
        }
    }
    found
}

fn hunk(edits: &[(Edit, &str)], start: usize, end: usize, out: &mut String) {
    let count = |range: &[(Edit, &str)], other: Edit| {
        range.iter().filter(|(edit, _)| *edit != other).count()
    };
    let range = |skip: Edit| {
        let (before, length) = (
            count(&edits[..start], skip),
            count(&edits[start..end], skip),
        );
        // A side without lines is numbered by the line before it.
        let first = if length == 0 { before } else { before + 1 };
        if length == 1 {
            first.to_string()
        } else {
            format!("{first},{length}")
        }
    };
    let ranges = [
        "@@ -",
        &range(Edit::Insert),
        " +",
        &range(Edit::Delete),
        " @@\n",
    ];
    out.extend(ranges);
    for (edit, line) in &edits[start..end] {
        let sign = match edit {
            Edit::Keep => ' ',
            Edit::Delete => '-',
            Edit::Insert => '+',
        };
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_three_lines_of_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(
            unified(old, new),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(
            unified("", "a\nb\n"),
            "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        );
        assert_eq!(unified(old, old), "No changes.");
    }
}
