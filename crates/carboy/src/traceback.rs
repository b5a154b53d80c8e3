//! Tracebacks for people: places in the background, what went wrong in front.

use crate::paint::Paint;

/// The lines of a traceback, which is visible text already, in colours.
pub fn coloured(text: &str, paint: Paint) -> String {
    let mut coloured = String::with_capacity(text.len() + 64);
    for line in text.trim_end().lines() {
        let rest = line.trim_start();
        let is_mark = !rest.is_empty() && rest.chars().all(|char| "^~".contains(char));
        coloured.push_str(&if is_mark {
            paint.red(line)
        } else if rest.starts_with("File \"") || rest.starts_with("Traceback ") {
            paint.dim(line)
        } else if line.starts_with(char::is_whitespace) {
            line.to_owned()
        } else {
            paint.yellow(line)
        });
        coloured.push('\n');
    }
    coloured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_a_traceback_is_what_it_was() {
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 1\n    1/0\n    ~^~\nZeroDivisionError: x\n";
        assert_eq!(coloured(text, Paint::none()), text);
    }
}
