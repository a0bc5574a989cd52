//! Words: what a text is found by.
//!
//! The index, the query and the excerpt cut texts here, and nowhere else, so that all three agree.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use crate::limits::WORD_CHARS_MAX;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it stands, in bytes.
    pub at: Range<usize>,
    /// How it is compared: small letters without accents, letters and digits only.
    pub folded: String,
}

/// The words of `text`, in order.
///
/// A word is a run of letters and digits. In scripts that set no blanks between words each letter is
/// a word, so that a part of a sentence is found; and a run beyond [`WORD_CHARS_MAX`] is several.
pub fn words(text: &str) -> impl Iterator<Item = Word> {
    Runs { text, from: 0 }.filter_map(move |at| {
        let folded = fold(text.get(at.clone())?);
        (!folded.is_empty()).then_some(Word { at, folded })
    })
}

/// Every word of `text` with a blank between them, as the index keeps them.
pub fn folded(text: &str) -> String {
    let mut all = String::new();
    for word in words(text) {
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(&word.folded);
    }
    all
}

/// The places of the words of a text.
struct Runs<'a> {
    text: &'a str,
    from: usize,
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.from..)?;
        let skipped = rest.find(char::is_alphanumeric)?;
        let start = self.from.saturating_add(skipped);
        let end = start.saturating_add(length(rest.get(skipped..)?));
        self.from = end;
        Some(start..end)
    }
}

/// The length in bytes of the word that `text` begins with.
fn length(text: &str) -> usize {
    let mut alone = false;
    for (count, (at, character)) in text.char_indices().enumerate() {
        let goes_on = is_mark(character)
            || (!alone && character.is_alphanumeric() && !(count > 0 && stands_alone(character)));
        if !goes_on || count >= WORD_CHARS_MAX {
            return at;
        }
        alone |= stands_alone(character);
    }
    text.len()
}

/// Accents that stand behind their letter.
const fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{3099}' | '\u{309a}')
}

/// Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which know no blanks.
const fn stands_alone(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    word.nfkd()
        .filter(|character| !matches!(character, '\u{300}'..='\u{36f}'))
        .flat_map(char::to_lowercase)
        .filter(|character| !character.is_ascii() || character.is_ascii_alphanumeric())
        // A small letter can bring an accent with it.
        .filter(|character| !matches!(character, '\u{300}'..='\u{36f}'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).map(|word| word.folded).collect()
    }

    #[test]
    fn a_text_falls_into_folded_words() {
        for (text, expected) in [
            ("", vec![]),
            (" - !", vec![]),
            ("Hello, World", vec!["hello", "world"]),
            ("foo_bar-2.0", vec!["foo", "bar", "2", "0"]),
            ("Über CAFÉ cafe\u{301}", vec!["uber", "cafe", "cafe"]),
            ("ＡＢＣ", vec!["abc"]),
            ("日本語 ok", vec!["日", "本", "語", "ok"]),
            ("v日2", vec!["v", "日", "2"]),
            ("か\u{3099}", vec!["か\u{3099}"]),
            ("İ", vec!["i"]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same_word() {
        assert_eq!(of("が é ñ"), of("か\u{3099} e\u{301} n\u{303}"));
    }

    #[test]
    fn a_run_without_end_is_several_words() {
        let run = "a".repeat(2 * WORD_CHARS_MAX + 1);
        let lengths: Vec<usize> = words(&run).map(|word| word.at.len()).collect();
        assert_eq!(lengths, [WORD_CHARS_MAX, WORD_CHARS_MAX, 1]);
    }

    #[test]
    fn a_word_stands_where_it_says() {
        let text = "…Äh, 日本!";
        let parts: Vec<&str> = words(text).map(|word| &text[word.at]).collect();
        assert_eq!(parts, ["Äh", "日", "本"]);
        assert_eq!(folded(text), "ah 日 本");
    }
}
