//! What language models write around code, and code that only a notebook understands: lines that are no
//! Python, with what to do about them.

/// What to do about a line that is no Python, if it is one that a fence or a notebook needs.
pub fn line_advice(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let command = line.trim_start_matches(['!', '%']);
    let is_notebook = command.len() < line.len();
    let installs = ["pip ", "pip3 ", "conda ", "mamba ", "uv pip "];
    let is_install = installs.iter().any(|word| command.starts_with(word));
    if line.starts_with("```") || line.starts_with("~~~") {
        Some("remove the lines of the Markdown fence, and send only the code between them")
    } else if is_install && (is_notebook || command.contains(" install ")) {
        Some(
            "remove this line: nothing can be installed in a run; use the packages that are installed",
        )
    } else if line.starts_with('!') {
        Some(
            "remove this line: it belongs to a notebook, and no other program can be started; do the \
             work in Python",
        )
    } else if is_notebook {
        Some("remove this line: it belongs to a notebook")
    } else if line.ends_with('?') && !line.contains(' ') {
        Some("remove this line: `?` belongs to a notebook; print what you want to see")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_fences_and_notebooks_are_told_apart() {
        let advice = |line, word| line_advice(line).is_some_and(|advice| advice.contains(word));
        assert!(advice("```python", "fence"));
        assert!(advice("  ~~~", "fence"));
        assert!(advice("!pip install numpy", "installed"));
        assert!(advice("%pip install numpy", "installed"));
        assert!(advice("pip install numpy", "installed"));
        assert!(advice("!ls -la", "program"));
        assert!(advice("%matplotlib inline", "notebook"));
        assert!(advice("%%timeit", "notebook"));
        assert!(advice("len?", "notebook"));
        for line in ["", "def f(:", "print 'hello'", "is this code?", "pip = 3 4", "x = 5 % "] {
            assert_eq!(line_advice(line), None, "{line}");
        }
    }
}
