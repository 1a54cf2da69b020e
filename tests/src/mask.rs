//! Blanks out of a source text all that is not code, so that no check reads a comment as code.

/// What a line holds, seen as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but white space.
    Blank,
    /// A comment that rustdoc shows.
    Doc,
    /// Any other comment.
    Comment,
    /// Code, or the inside of a string.
    Code,
}

/// A text with comments, strings and characters blanked out, and the kind of each of its lines.
pub(crate) struct Masked {
    /// The code: as many lines as the text, each byte in its place.
    pub(crate) code: String,
    /// One entry a line.
    pub(crate) kinds: Vec<Kind>,
}

/// Separates code from everything else.
pub(crate) fn mask(text: &str) -> Masked {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        code: Vec::with_capacity(text.len()),
        kinds: vec![Kind::Blank],
    };
    scanner.run();
    let mut kinds = scanner.kinds;
    if text.ends_with('\n') {
        kinds.pop();
    }
    Masked { code: String::from_utf8_lossy(&scanner.code).into_owned(), kinds }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
    kinds: Vec<Kind>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
                b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
                b'"' => self.string(),
                b'\'' => self.quote(),
                _ if is_word(byte) => self.word(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Passes one byte on as code.
    fn keep(&mut self) {
        let byte = self.bytes[self.at];
        self.code.push(byte);
        self.step(byte, Kind::Code);
    }

    /// Replaces one byte by a space; its line is at least of this kind.
    fn blank(&mut self, kind: Kind) {
        let byte = self.bytes[self.at];
        self.code.push(if byte == b'\n' { b'\n' } else { b' ' });
        self.step(byte, kind);
    }

    fn step(&mut self, byte: u8, kind: Kind) {
        self.at += 1;
        if byte == b'\n' {
            self.kinds.push(Kind::Blank);
        } else if !byte.is_ascii_whitespace()
            && let Some(line) = self.kinds.last_mut()
            && *line != Kind::Code
        {
            *line = kind;
        }
    }

    fn blank_while(&mut self, kind: Kind, go_on: impl Fn(&Self) -> bool) {
        while self.at < self.bytes.len() && go_on(self) {
            self.blank(kind);
        }
    }

    fn line_comment(&mut self) {
        let doc = match (self.peek(2), self.peek(3)) {
            (Some(b'!'), _) => true,
            (Some(b'/'), fourth) => fourth != Some(b'/'),
            _ => false,
        };
        let kind = if doc { Kind::Doc } else { Kind::Comment };
        self.blank_while(kind, |scanner| scanner.peek(0) != Some(b'\n'));
    }

    fn block_comment(&mut self) {
        let doc = match (self.peek(2), self.peek(3)) {
            (Some(b'!'), _) => true,
            (Some(b'*'), fourth) => !matches!(fourth, Some(b'*' | b'/')),
            _ => false,
        };
        let kind = if doc { Kind::Doc } else { Kind::Comment };
        let mut depth = 0;
        while self.at < self.bytes.len() {
            let two = (self.peek(0), self.peek(1));
            let change = match two {
                (Some(b'/'), Some(b'*')) => 1,
                (Some(b'*'), Some(b'/')) => -1,
                _ => 0,
            };
            depth += change;
            self.blank(kind);
            if change != 0 {
                self.blank(kind);
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// From an opening quotation mark to the closing one, escapes passed over.
    fn string(&mut self) {
        self.blank(Kind::Code);
        while let Some(byte) = self.peek(0) {
            self.blank(Kind::Code);
            match byte {
                b'"' => return,
                b'\\' if self.peek(0).is_some() => self.blank(Kind::Code),
                _ => {}
            }
        }
    }

    /// From the `#` or `"` after `r` to the closing mark with as many `#`.
    fn raw_string(&mut self) {
        let from = self.at;
        self.blank_while(Kind::Code, |scanner| scanner.peek(0) == Some(b'#'));
        let hashes = self.at - from;
        self.blank(Kind::Code);
        while let Some(byte) = self.peek(0) {
            let ends = byte == b'"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some(b'#'));
            self.blank(Kind::Code);
            if ends {
                let end = self.at + hashes;
                self.blank_while(Kind::Code, |scanner| scanner.at < end);
                return;
            }
        }
    }

    /// A character is blanked; the mark of a lifetime is code.
    fn quote(&mut self) {
        let escaped = self.peek(1) == Some(b'\\');
        let width = self.peek(1).map_or(1, char_width);
        if !escaped && self.peek(1 + width) != Some(b'\'') {
            return self.keep();
        }
        self.blank(Kind::Code);
        if escaped {
            self.blank(Kind::Code);
        }
        self.blank(Kind::Code);
        self.blank_while(Kind::Code, |scanner| scanner.peek(0) != Some(b'\''));
        if self.at < self.bytes.len() {
            self.blank(Kind::Code);
        }
    }

    /// A word, read whole so that the `r` of `for"` is no prefix; then the string it may begin.
    fn word(&mut self) {
        let from = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.keep();
        }
        match &self.bytes[from..self.at] {
            b"r" | b"br" | b"cr" if self.opens_raw() => self.raw_string(),
            b"b" | b"c" if self.peek(0) == Some(b'"') => self.string(),
            _ => {}
        }
    }

    fn opens_raw(&self) -> bool {
        let hashes = (0..).take_while(|&ahead| self.peek(ahead) == Some(b'#')).count();
        self.peek(hashes) == Some(b'"')
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn char_width(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        mask(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_blanked_also_when_nested() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(code("a /* never closed"), "a");
        assert_eq!(code("a / b"), "a / b");
    }

    #[test]
    fn strings_of_every_kind_are_blanked() {
        assert_eq!(code(r#"a("b // \" c") d"#), "a( ) d");
        assert_eq!(code(r###"a(r#"b " c"#, br"\", c"d", b"e") f"###), "a(r , br , c , b ) f");
        assert_eq!(code("let r#type = for_r;"), "let r#type = for_r;");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_stay() {
        assert_eq!(code(r"a('x', '\'', '\u{1F}', 'ß', '/', b'{') b"), "a( , , , , , b ) b");
        assert_eq!(code("fn a<'b>(c: &'b str) {}"), "fn a<'b>(c: &'b str) {}");
        assert_eq!(code("'a: loop { break 'a }"), "'a: loop { break 'a }");
    }

    #[test]
    fn each_byte_keeps_its_place() {
        let text = "let a = \"é\n\"; // ß\n/* x\ny */ b\n";
        let masked = mask(text);
        assert_eq!(masked.code.len(), text.len());
        assert_eq!(masked.code.lines().count(), text.lines().count());
        assert_eq!(masked.code.find('b'), text.rfind('b'));
    }

    #[test]
    fn each_line_has_its_kind() {
        let text = "//! a\n\n/// b\n//// c\n// d\ne // f\n/** g\nh */\n\"i\nj\"\n/**/\n";
        use Kind::{Blank, Code, Comment, Doc};
        let expected =
            [Doc, Blank, Doc, Comment, Comment, Code, Doc, Doc, Code, Code, Comment].to_vec();
        assert_eq!(mask(text).kinds, expected);
    }
}
