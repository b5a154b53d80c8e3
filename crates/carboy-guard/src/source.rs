//! What is looked at before parsing: length, characters, encoding, nesting.
//!
//! A tree as deep as a source is long overflows the stack when it is walked or dropped, and no
//! handler catches that. So nesting is bounded from the tokens, which a flat loop can read.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};
use ruff_text_size::{TextRange, TextSize};

use crate::report::Findings;
use crate::rule::Rule;

/// How deep expressions may nest, counted from their tokens.
pub(crate) const DEPTH: usize = 1_000;
/// How deep blocks may nest: CPython's own limit.
const INDENTS: usize = 100;

/// What is wrong with a text before it is parsed. Empty means that it can be.
pub(crate) fn look(source: &str, most: usize) -> Findings {
    if source.len() > most {
        let message =
            format_args!("the source has {} bytes; at most {most} are allowed", source.len());
        let instead = "pass data as inputs, and keep the code short";
        return Findings::one(Rule::SourceSize, TextRange::default(), message, instead);
    }
    let mut found = Findings::default();
    odd_characters(source, &mut found);
    coding_cookie(source, &mut found);
    if found.is_empty() && is_too_deep(source) {
        let message = format_args!(
            "more than {DEPTH} nested operations or {INDENTS} nested blocks, or unbalanced brackets"
        );
        let instead = "assign parts of it to variables, or use a loop";
        found.add(Rule::NestingDepth, deep_line(source), message, instead);
    }
    found
}

/// The bytes from `start`, `length` of them. A source is shorter than 4 GiB.
fn range(start: usize, length: usize) -> TextRange {
    let size = |bytes: usize| TextSize::new(u32::try_from(bytes).unwrap_or(u32::MAX));
    TextRange::at(size(start), size(length))
}

/// Characters that are not shown, or that change how the text around them is shown.
fn odd_characters(source: &str, found: &mut Findings) {
    if source.is_ascii() && !source.contains('\0') {
        return;
    }
    let odd = |c: char| {
        matches!(c, '\0' | '\u{feff}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for (at, c) in source.char_indices().filter(|(_, c)| odd(*c)) {
        let code = u32::from(c);
        let message = format_args!("the character U+{code:04X} is invisible or reorders text");
        let instead = format_args!("remove it, or write it as \\u{code:04x} in a string");
        found.add(Rule::OddCharacter, range(at, c.len_utf8()), message, instead);
    }
}

/// A line that claims an encoding, as CPython looks for it in the first two lines.
fn coding_cookie(source: &str, found: &mut Findings) {
    let mut start = 0;
    for line in source.split_inclusive('\n').take(2) {
        let text = line.trim_start_matches([' ', '\t', '\x0c']);
        if !text.starts_with('#') && !text.trim_end().is_empty() {
            return;
        }
        let claimed = text.match_indices("coding").find_map(|(at, word)| {
            let rest = text[at + word.len()..].strip_prefix([':', '='])?;
            let rest = rest.trim_start_matches([' ', '\t']);
            let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let name = &rest[..rest.find(|c| !name(c)).unwrap_or(rest.len())];
            (!name.is_empty()).then_some(name)
        });
        if let Some(name) = claimed {
            let plain = name.to_ascii_lowercase().replace('_', "-");
            if plain != "utf-8" && plain != "utf8" {
                let message = format_args!("the source declares the encoding {name}");
                let instead = "remove the line: source is always UTF-8";
                found.add(
                    Rule::CodingCookie,
                    range(start, line.trim_end().len()),
                    message,
                    instead,
                );
            }
            return;
        }
        start += line.len();
    }
}

/// Whether the tree of this source might nest too deeply.
///
/// Counts, for every open bracket, what may add a level since the last comma: each operator, dot,
/// keyword and bracket. For a program that parses, the sum is never less than the depth of its tree.
/// What does not parse is another matter: a parser that goes on after an error nests where no
/// program can. So a text with a fault in its brackets, or in a lambda, counts as deep, unless all of
/// it together has no more than what is allowed.
fn is_too_deep(source: &str) -> bool {
    let mut lexer = lexer::lex(source, Mode::Module);
    let mut open = vec![Level::default()];
    let (mut depth, mut indents, mut total) = (0, 0usize, 0usize);
    let (mut deep, mut faulty) = (false, false);
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => break,
            TokenKind::Newline | TokenKind::Semi => {
                faulty |= is_unfinished(&open);
                open.truncate(1);
                open[0] = Level::default();
                depth = 0;
            }
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::Comma => {
                if let Some(level) = open.last_mut().filter(|level| level.commas_separate()) {
                    depth -= level.count;
                    level.count = 0;
                }
            }
            TokenKind::Colon => {
                if let Some(level) = open.last_mut() {
                    level.lambdas = level.lambdas.saturating_sub(1);
                }
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                let level = open.pop().unwrap_or_default();
                faulty |= level.closes_with != Some(kind) || level.lambdas > 0;
                depth -= level.count;
                if open.is_empty() {
                    open.push(Level::default());
                }
            }
            TokenKind::Unknown => {
                faulty = true;
                total += 1;
            }
            kind if adds_a_level(kind) => {
                if let Some(level) = open.last_mut() {
                    level.count += 1;
                    level.lambdas += usize::from(kind == TokenKind::Lambda);
                    level.yields |= kind == TokenKind::Yield;
                }
                depth += 1;
                total += 1;
                if let Some(closes_with) = closed_by(kind) {
                    open.push(Level { closes_with: Some(closes_with), ..Level::default() });
                }
            }
            _ => {}
        }
        deep |= depth > DEPTH || indents > INDENTS;
        if deep || (faulty && total > DEPTH) {
            return true;
        }
    }
    (faulty || is_unfinished(&open)) && total > DEPTH
}

/// Whether a bracket or the parameters of a lambda are not over.
fn is_unfinished(open: &[Level]) -> bool {
    open.len() > 1 || open.iter().any(|level| level.lambdas > 0)
}

/// What is counted within one bracket.
#[derive(Default)]
struct Level {
    count: usize,
    /// What closes it; nothing closes the first.
    closes_with: Option<TokenKind>,
    /// Lambdas whose parameters are not over: their commas separate nothing.
    lambdas: usize,
    /// There was a `yield`, which takes what stands behind a comma too.
    yields: bool,
}

impl Level {
    fn commas_separate(&self) -> bool {
        self.lambdas == 0 && !self.yields
    }
}

fn closed_by(kind: TokenKind) -> Option<TokenKind> {
    match kind {
        TokenKind::Lpar => Some(TokenKind::Rpar),
        TokenKind::Lsqb => Some(TokenKind::Rsqb),
        TokenKind::Lbrace => Some(TokenKind::Rbrace),
        TokenKind::FStringStart => Some(TokenKind::FStringEnd),
        TokenKind::TStringStart => Some(TokenKind::TStringEnd),
        _ => None,
    }
}

/// Everything but names, literals and what is not part of an expression.
fn adds_a_level(kind: TokenKind) -> bool {
    !matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::None
            | TokenKind::True
            | TokenKind::False
    )
}

/// The line on which a source becomes too deep: the first whose end a search finds it at.
fn deep_line(source: &str) -> TextRange {
    let ends: Vec<usize> =
        source.match_indices('\n').map(|(at, _)| at + 1).chain([source.len()]).collect();
    let line = ends.partition_point(|end| !is_too_deep(&source[..*end]));
    let start = if line == 0 { 0 } else { ends[line - 1] };
    let text = source[start..].lines().next().unwrap_or_default();
    range(start, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(source: &str) -> Vec<Rule> {
        let report = look(source, 1 << 20).report(source);
        report.violations.into_iter().map(|found| found.rule).collect()
    }

    #[test]
    fn what_nests_too_deeply_is_found_on_its_line() {
        for deep in [
            "-".repeat(2_000) + "1",
            "not ".repeat(2_000) + "1",
            "lambda a, b: ".repeat(2_000) + "1",
            "(".repeat(2_000),
            "f".to_owned() + &"()".repeat(2_000),
            "f".to_owned() + &".f".repeat(2_000),
            "f".to_owned() + &"[0]".repeat(2_000),
            "1".to_owned() + &"+1".repeat(2_000),
            "1".to_owned() + &"**1".repeat(2_000),
            "1".to_owned() + &" if 1 else 1".repeat(2_000),
            "await ".repeat(2_000) + "x",
            "[lambda: ".repeat(1_500) + "0",
            "{0:".repeat(2_000) + "1" + &"}".repeat(2_000),
            "f'{".repeat(1_200) + "1",
            "yield 1,".repeat(70_000),
            "yield from,".repeat(50_000),
            "[;".repeat(50_000),
            "lambda;".repeat(50_000),
            "lambda:lambda;".repeat(50_000),
            "[),".repeat(50_000),
            "} [ await } ".repeat(50_000),
        ] {
            let source = format!("a = 1\nb = '''\n'''\n{deep}\nc = 2\n");
            let found = look(&source, 1 << 20).report(&source).violations;
            assert_eq!(found.len(), 1, "{}", &deep[..20]);
            let place = (found[0].rule, found[0].line, found[0].column);
            assert_eq!(place, (Rule::NestingDepth, 4, 1), "{}", &deep[..20]);
        }
        let blocks: String =
            (0..101).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect();
        assert_eq!(rules(&(blocks + &" ".repeat(101) + "pass\n")), [Rule::NestingDepth]);
    }

    #[test]
    fn what_is_long_but_flat_is_not_deep() {
        for flat in [
            "[".to_owned() + &"-1, ".repeat(20_000) + "]",
            "x = {".to_owned() + &"'a': f(b.c, -d[1:2]), ".repeat(5_000) + "}",
            "f(1)\n".repeat(5_000),
            "a = 1 + 2; ".repeat(5_000),
            "g = [".to_owned() + &"lambda a, b: a + b, ".repeat(3_000) + "]",
            "x = (".to_owned() + &"'text '\n".repeat(3_000) + ")",
        ] {
            assert_eq!(rules(&flat), [], "{}", &flat[..20]);
        }
    }

    #[test]
    fn encodings_are_found_where_cpython_looks_for_them() {
        for refused in [
            "# coding: utf-7\n",
            "#!/usr/bin/python\n# -*- coding: latin-1 -*-\n",
            "\n#coding=unicode_escape\n",
            "\x0c # vim: set fileencoding=raw_unicode_escape :\n",
        ] {
            assert_eq!(rules(refused), [Rule::CodingCookie], "{refused:?}");
        }
        for fine in [
            "# coding: utf-8\n",
            "# -*- coding: UTF_8 -*-\n",
            "x = 1\n# coding: utf-7\n",
            "\n\n# coding: utf-7\n",
            "'''coding: utf-7'''\n",
        ] {
            assert_eq!(rules(fine), [], "{fine:?}");
        }
    }

    #[test]
    fn characters_that_mislead_are_odd() {
        for odd in ["a\0", "\u{feff}x = 1", "x = '\u{202e}'", "# \u{2066}"] {
            assert_eq!(rules(odd), [Rule::OddCharacter], "{odd:?}");
        }
        assert_eq!(rules("naïve = 'überall 😀'"), []);
    }
}
