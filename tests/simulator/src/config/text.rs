//! From text to documents, and the errors on the way.

/// The loader's text for what is no YAML. Only the tab, the one a person meets, is spelled as Talos spells it.
pub fn decode_error(part: &str, error: &serde_saphyr::Error) -> String {
    let lines: Vec<&str> = part.lines().collect();
    match lines.iter().position(|line| line.starts_with('\t')) {
        Some(index) if index > 0 => {
            let column = lines[index - 1].find(": ").map_or(1, |colon| colon + 3);
            format!(
                "decode error: go-yaml load error in scanner (while scanning a plain scalar) at L{index}.C{column}-L{}.C1: found a tab character that violates indentation",
                index + 1
            )
        }
        _ => format!("decode error: {error}"),
    }
}

/// Documents with the line (from 1) each begins at.
pub fn split(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(1, String::new())];
    for (index, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            parts.push((index + 2, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.retain(|(_, part)| {
        part.lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    });
    parts
}
