//! Rust source as words and signs, without comments, texts and tests: as much as it takes to see
//! which file names which.

/// One token. Texts, characters, numbers and lifetimes are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

impl Token {
    pub(crate) fn is(&self, sign: char) -> bool {
        *self == Token::Sign(sign)
    }

    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The tokens of a file.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let letters: Vec<char> = text.chars().collect();
    let at = |place: usize| letters.get(place).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < letters.len() {
        match (at(place), at(place + 1)) {
            ('/', '/') => place = skip_line(&letters, place),
            ('/', '*') => place = skip_comment(&letters, place),
            ('"', _) => place = skip_text(&letters, place),
            ('\'', next) => place = skip_quote(&letters, place, next),
            (':', ':') => {
                tokens.push(Token::Path);
                place += 2;
            }
            (letter, _) if letter.is_alphabetic() || letter == '_' => {
                let start = place;
                while at(place).is_alphanumeric() || at(place) == '_' {
                    place += 1;
                }
                let word: String = letters[start..place].iter().collect();
                match (word.as_str(), at(place)) {
                    ("r" | "br" | "cr", '"' | '#') if is_raw_text(&letters, place) => {
                        place = skip_raw_text(&letters, place);
                    }
                    // A raw name: the name follows.
                    ("r", '#') => place += 1,
                    _ => tokens.push(Token::Word(word)),
                }
            }
            (letter, _) if letter.is_whitespace() => place += 1,
            (letter, _) if letter.is_ascii_digit() => {
                while at(place).is_alphanumeric() || at(place) == '_' {
                    place += 1;
                }
            }
            (letter, _) => {
                tokens.push(Token::Sign(letter));
                place += 1;
            }
        }
    }
    tokens
}

fn skip_line(letters: &[char], from: usize) -> usize {
    letters[from..]
        .iter()
        .position(|letter| *letter == '\n')
        .map_or(letters.len(), |end| from + end)
}

fn skip_comment(letters: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut place = from;
    while place < letters.len() {
        match letters[place..] {
            ['/', '*', ..] => {
                depth += 1;
                place += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                place += 2;
                if depth == 0 {
                    return place;
                }
            }
            _ => place += 1,
        }
    }
    place
}

fn skip_text(letters: &[char], from: usize) -> usize {
    let mut place = from + 1;
    while place < letters.len() && letters[place] != '"' {
        place += if letters[place] == '\\' { 2 } else { 1 };
    }
    place + 1
}

fn is_raw_text(letters: &[char], from: usize) -> bool {
    letters[from..].iter().find(|letter| **letter != '#') == Some(&'"')
}

fn skip_raw_text(letters: &[char], from: usize) -> usize {
    let hashes = letters[from..].iter().take_while(|letter| **letter == '#').count();
    let mut end = vec!['"'];
    end.extend(std::iter::repeat_n('#', hashes));
    let body = from + hashes + 1;
    let rest = letters.get(body..).unwrap_or_default();
    rest.windows(end.len())
        .position(|part| part == end)
        .map_or(letters.len(), |at| body + at + end.len())
}

/// A character or the beginning of a lifetime.
fn skip_quote(letters: &[char], from: usize, next: char) -> usize {
    if next == '\\' {
        let rest = letters.get(from + 3..).unwrap_or_default();
        return rest
            .iter()
            .position(|letter| *letter == '\'')
            .map_or(letters.len(), |at| from + 4 + at);
    }
    if letters.get(from + 2) == Some(&'\'') {
        return from + 3;
    }
    let mut place = from + 1;
    while letters.get(place).is_some_and(|letter| letter.is_alphanumeric() || *letter == '_') {
        place += 1;
    }
    place
}

/// Takes every item under `#[cfg(test)]` out, and says which modules in other files those were.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let marks: Vec<Token> = self::tokens("#[cfg(test)]");
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut place = 0;
    while place < tokens.len() {
        if tokens[place..].starts_with(&marks) {
            let end = item_end(tokens, place + marks.len());
            let item = &tokens[place..end];
            if let [.., mod_, Token::Word(name), Token::Sign(';')] = item
                && mod_.word() == Some("mod")
            {
                modules.push(name.clone());
            }
            place = end;
        } else {
            kept.push(tokens[place].clone());
            place += 1;
        }
    }
    (kept, modules)
}

/// Where the item that begins here ends: at its semicolon, or after its braces.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Sign('{' | '(' | '[') => depth += 1,
            Token::Sign(closing @ ('}' | ')' | ']')) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && *closing == '}' {
                    return place + 1;
                }
            }
            Token::Sign(';') if depth == 0 => return place + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let (tokens, _) = without_tests(&tokens(text));
        let words = tokens.iter().map(|token| match token {
            Token::Word(word) => word.clone(),
            Token::Path => "::".into(),
            Token::Sign(sign) => sign.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_texts_are_left_out() {
        assert_eq!(words("a /* b /* c */ d */ e // f\ng"), "a e g");
        assert_eq!(
            words(r##"a("\" x", r#"y " z"#, br"w", b"v", 'u', '\'', '\u{1F}') t"##),
            "a ( , , , b , , , ) t"
        );
        assert_eq!(
            words("fn f<'a>(x: &'a str) -> r#type { 'b' }"),
            "fn f < > ( x : & str ) - > type { }"
        );
    }

    #[test]
    fn tests_are_left_out_and_their_files_named() {
        let text =
            "mod a; #[cfg(test)] mod tests { use x; fn f() {} } #[cfg(test)]\nmod b; use c::d;";
        assert_eq!(words(text), "mod a ; use c :: d ;");
        assert_eq!(without_tests(&tokens(text)).1, ["b"]);
        assert_eq!(
            words("#[cfg(test)] #[allow(x)] pub(crate) fn f(a: [u8; 2]) {} struct S;"),
            "struct S ;"
        );
    }
}
