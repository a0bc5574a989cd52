//! How deep a text is nested, found without recursion: the parser recurses once for each level, and
//! a text nested too deep would end the process instead of being refused.

use std::iter::Peekable;
use std::str::CharIndices;

/// Deepest nesting that is parsed; the schema needs less than 20 levels.
pub(super) const DEPTH_MAX: usize = 64;

/// What is left of the text.
type Rest<'a> = Peekable<CharIndices<'a>>;

/// Where the first bracket stands that opens a level below [`DEPTH_MAX`], in bytes. Brackets in
/// strings and comments do not count.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut rest = text.char_indices().peekable();
    let mut depth: usize = 0;
    while let Some((at, character)) = rest.next() {
        match character {
            '{' | '[' => {
                depth = depth.saturating_add(1);
                if depth > DEPTH_MAX {
                    return Some(at);
                }
            },
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' | '\'' => skip_string(&mut rest, character),
            '/' => skip_comment(&mut rest),
            _ => {},
        }
    }
    None
}

/// Goes on behind the quote that ends a string.
fn skip_string(rest: &mut Rest<'_>, quote: char) {
    while let Some((_, character)) = rest.next() {
        if character == '\\' {
            rest.next();
        } else if character == quote {
            return;
        }
    }
}

/// Goes on behind the comment, if the slash just read begins one.
fn skip_comment(rest: &mut Rest<'_>) {
    if rest.next_if(|(_, next)| *next == '/').is_some() {
        rest.find(|(_, next)| matches!(next, '\n' | '\r' | '\u{2028}' | '\u{2029}'));
    } else if rest.next_if(|(_, next)| *next == '*').is_some() {
        while let Some((_, character)) = rest.next() {
            if character == '*' && rest.next_if(|(_, next)| *next == '/').is_some() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` brackets, each opened and closed.
    fn nested(count: usize) -> String {
        "[".repeat(count) + &"]".repeat(count)
    }

    #[test]
    fn the_deepest_allowed_level_passes_and_the_next_is_found_where_it_opens() {
        assert_eq!(too_deep(&nested(DEPTH_MAX)), None);
        assert_eq!(too_deep(&nested(DEPTH_MAX + 1)), Some(DEPTH_MAX));
        // Levels beside one another are not below one another.
        assert_eq!(too_deep(&"[{}],".repeat(DEPTH_MAX * 2)), None);
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        let many = "{[".repeat(DEPTH_MAX);
        for text in [
            format!("\"{many}\""),
            format!("'{many}'"),
            format!(r#""\"{many}""#),
            format!(r"'\'{many}'"),
            format!("// {many}\n1"),
            format!("/* {many} */ 1"),
            format!("/*/ {many} */ 1"),
            format!("/** {many} **/ 1"),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
    }

    #[test]
    fn strings_and_comments_end_where_the_parser_ends_them() {
        let deep = nested(DEPTH_MAX + 1);
        for before in [
            "\"a\"",
            r#""\\""#,
            r"'\\'",
            "\"it's\"",
            "\"//\"",
            "'/*'",
            "// it's\n",
            "// \"\r",
            "//\u{2028}",
            "//\u{2029}",
            "/* ' */",
            "/***/",
            "/* // */",
            "/",
        ] {
            assert_eq!(
                too_deep(&format!("{before}{deep}")),
                Some(before.len() + DEPTH_MAX),
                "{before}"
            );
        }
    }
}
