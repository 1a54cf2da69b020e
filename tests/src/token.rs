//! Words and marks of masked code, each with its line.

/// A word (name, keyword, number), `::`, or any other single mark.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Counted from 1.
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphanumeric() || first == '_')
    }
}

/// Splits masked code into tokens.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = token_length(rest, first);
            found.push(Token { text: rest[..length].to_owned(), line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    found
}

fn token_length(rest: &str, first: char) -> usize {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    if word(first) {
        rest.find(|letter| !word(letter)).unwrap_or(rest.len())
    } else if rest.starts_with("::") {
        2
    } else {
        first.len_utf8()
    }
}

/// The index of the mark that closes the one at `open`, or the end of the tokens.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len().saturating_sub(1)
}

/// The index where an item that begins at `from` ends: its `;`, or the `}` of its body.
pub(crate) fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut index = from;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            "(" | "[" => index = closing(tokens, index),
            "{" => return closing(tokens, index),
            ";" => return index,
            _ => {}
        }
        index += 1;
    }
    tokens.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Vec<String> {
        tokens(code).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_and_marks_are_split() {
        assert_eq!(texts("a::b_1(&c);"), ["a", "::", "b_1", "(", "&", "c", ")", ";"]);
    }

    #[test]
    fn a_token_knows_its_line() {
        let lines: Vec<usize> = tokens("a\n\nb c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 3]);
    }

    #[test]
    fn an_item_ends_with_its_body_or_its_semicolon() {
        let all = tokens("fn a(b: [u8; 2]) { { } } const C: [u8; 1] = [1]; d");
        let body = item_end(&all, 0);
        assert!(all[body].is("}") && all[body + 1].is("const"));
        assert!(all[item_end(&all, body + 1) + 1].is("d"));
    }
}
