//! Functions with a body: where each begins and ends.

use crate::token::{Token, closing};

/// A function that has a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of `fn`; what is documented or marked above does not count.
    pub first: usize,
    /// The line of the closing brace.
    pub last: usize,
}

impl Function {
    /// How many lines it takes.
    pub fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

/// All functions of a file, inner ones too.
pub(crate) fn functions(tokens: &[Token]) -> Vec<Function> {
    let named = |index: &usize| {
        tokens[*index].is("fn") && tokens.get(index + 1).is_some_and(Token::is_word)
    };
    (0..tokens.len())
        .filter(named)
        .filter_map(|index| {
            let last = body_end(tokens, index + 2)?;
            let name = tokens[index + 1].text.clone();
            Some(Function { name, first: tokens[index].line, last: tokens[last].line })
        })
        .collect()
}

/// Where the body ends, or `None` for a function that is only declared.
fn body_end(tokens: &[Token], from: usize) -> Option<usize> {
    let mut index = from;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            "(" | "[" => index = closing(tokens, index),
            "{" => return Some(closing(tokens, index)),
            ";" => return None,
            _ => {}
        }
        index += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    #[test]
    fn a_function_reaches_from_fn_to_its_brace() {
        let code = "impl A {\n#[inline]\nfn b(c: [u8; 2])\nwhere\n{\n if d { }\n}\n}";
        let found = functions(&tokens(code));
        assert_eq!(found, [Function { name: "b".into(), first: 3, last: 7 }]);
        assert_eq!(found[0].lines(), 5);
    }

    #[test]
    fn declarations_and_function_pointers_are_none() {
        assert_eq!(functions(&tokens("trait A { fn b(&self); } type C = fn(u8) -> u8;")), []);
    }
}
