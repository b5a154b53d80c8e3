//! Whether what was typed so far is to be continued on another line.
//!
//! As at Python's own prompt: inside brackets and long strings, after a backslash, and in a block until a blank line
//! ends it. Code that is wrong is complete: Python says what is wrong with it.

/// How a piece of code stands at its end.
#[derive(Default)]
struct Ending {
    /// Brackets that are open.
    depth: usize,
    /// In a string of three quotes.
    in_string: bool,
    /// The last character joins the next line to this one.
    joins: bool,
    /// The last character of code on the last line that has some, comments aside.
    last: Option<char>,
}

/// Whether more lines have to follow.
pub fn is_incomplete(code: &str) -> bool {
    if code.trim().is_empty() {
        return false;
    }
    let ending = ending(code);
    if ending.in_string {
        return true;
    }
    // Who enters blank lines again and again wants it to end, whatever it is.
    let blank = code.rsplit('\n').take_while(|line| line.trim().is_empty()).count();
    if blank > 2 {
        return false;
    }
    if ending.depth > 0 || ending.joins {
        return true;
    }
    if blank > 0 {
        // A blank line ends a block, but for one that has not begun.
        return ending.last == Some(':');
    }
    let line = code.rsplit('\n').next().unwrap_or(code);
    let is_inside = code.contains('\n') && line.starts_with([' ', '\t']);
    is_inside || ending.last == Some(':') || line.starts_with('@')
}

/// What the next line begins with: as far in as this one, and further after a colon.
pub fn indentation(code: &str) -> String {
    let line = code.rsplit('\n').next().unwrap_or(code);
    let rest = line.trim_start();
    let mut spaces = line[..line.len() - rest.len()].to_owned();
    let end = ending(code);
    if end.in_string {
        return String::new();
    }
    if end.depth == 0 && end.last == Some(':') {
        spaces.push_str("    ");
    }
    spaces
}

fn ending(code: &str) -> Ending {
    let mut end = Ending::default();
    let mut rest = code;
    while let Some(char) = rest.chars().next() {
        let mut taken = char.len_utf8();
        end.joins = false;
        match char {
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => {
                let (length, is_open) = string(rest, char);
                taken = length;
                if is_open {
                    end.in_string = true;
                    return end;
                }
                end.last = Some(char);
            }
            '(' | '[' | '{' => {
                end.depth += 1;
                end.last = Some(char);
            }
            ')' | ']' | '}' => {
                end.depth = end.depth.saturating_sub(1);
                end.last = Some(char);
            }
            '\\' => {
                end.joins = matches!(&rest[taken..], "" | "\n");
                end.last = Some(char);
            }
            _ if char.is_whitespace() => {}
            _ => end.last = Some(char),
        }
        rest = &rest[taken..];
    }
    end
}

/// How long the string is that begins here, and whether it has three quotes and no end.
fn string(text: &str, quote: char) -> (usize, bool) {
    let long = quote.to_string().repeat(3);
    let is_long = text.starts_with(&long);
    let mut at = if is_long { 3 } else { 1 };
    while let Some(char) = text[at..].chars().next() {
        if is_long && text[at..].starts_with(&long) {
            return (at + 3, false);
        }
        if !is_long && (char == quote || char == '\n') {
            // One without an end is a mistake, which ends with its line.
            return (at + usize::from(char == quote), false);
        }
        at += char.len_utf8();
        if char == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    (text.len(), is_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_goes_on_inside_brackets_strings_and_blocks() {
        let open = [
            "f(1,",
            "x = [",
            "x = '''a",
            "x = '''a\n",
            "x = 1 + \\",
            "if x:",
            "if x: # so",
            "def f():\n    return 1",
            "for x in y:\n    f(x)\nelse:",
            "@cache",
            "@cache\ndef f():",
            "d = {'a': 1,\n",
            "if x:\n    f(\n\n",
            "if x:\n",
        ];
        for code in open {
            assert!(is_incomplete(code), "{code:?}");
        }
    }

    #[test]
    fn code_ends_where_python_would_read_it() {
        let whole = [
            "",
            "   ",
            "x = 1",
            "f('(')",
            "x = 'a",
            "x = \"it's\"",
            "x = '''a''' # (",
            "if x: f()",
            "def f():\n    return 1\n",
            "def f():\n    return 1\n    ",
            "x = 1\ny = 2",
            "x = r'\\'",
            "f(1))",
            "# if x:",
            "f(\n\n\n",
        ];
        for code in whole {
            assert!(!is_incomplete(code), "{code:?}");
        }
    }

    #[test]
    fn the_next_line_is_as_far_in_as_it_belongs() {
        assert_eq!(indentation("if x:"), "    ");
        assert_eq!(indentation("if x:\n    if y:  # why"), "        ");
        assert_eq!(indentation("if x:\n    f()"), "    ");
        assert_eq!(indentation("x = {\n  'a':"), "  ");
        assert_eq!(indentation("x = '''\n  a"), "");
    }
}
