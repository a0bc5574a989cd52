//! The title of a session that nobody named.

use confab_model::clock::Timestamp;

use crate::limits::{TITLE_BREAK_UNITS_MIN, TITLE_UNITS_MAX};

/// Stands behind a title that was cut.
const ELLIPSIS: char = '…';
/// Characters of a sessionId that tell it apart from its neighbours.
const SHORT_ID_CHARS: usize = 8;
/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

/// What is known of a session that could serve as its title.
#[derive(Clone, Copy, Debug)]
pub struct Known<'s> {
    /// The name people gave it.
    pub label: Option<&'s str>,
    /// The name it is shown under.
    pub display_name: Option<&'s str>,
    /// The subject of its group.
    pub subject: Option<&'s str>,
    /// The first message of a person; never another session's.
    pub first_user_text: Option<&'s str>,
    /// Its present generation.
    pub session_id: &'s str,
    /// When a message or a run last moved it.
    pub updated_at: Option<Timestamp>,
}

/// The title: the label, else the display name, else the subject, else the beginning of the first
/// message of a person, else the beginning of the sessionId with the day of the last movement.
///
/// What is blank counts as absent. Only the message is shortened: to 60 UTF-16 units, at a blank
/// where one is far enough behind.
///
/// Source: reg:L35.
pub fn derived_title(known: &Known<'_>) -> String {
    let names = [known.label, known.display_name, known.subject];
    if let Some(name) = names
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|name| !name.is_empty())
    {
        return name.to_owned();
    }
    let said = known
        .first_user_text
        .map(collapse_blanks)
        .filter(|text| !text.is_empty());
    said.map_or_else(|| from_id(known), |text| shorten(&text))
}

fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts a text without double blanks to a title's length; no surrogate pair is split.
fn shorten(text: &str) -> String {
    if text.encode_utf16().count() <= TITLE_UNITS_MAX {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut units = 0;
    let mut last_break = None;
    for character in text.chars() {
        let next = units + character.len_utf16();
        // The ellipsis takes the last unit.
        if next >= TITLE_UNITS_MAX {
            break;
        }
        if character == ' ' && units >= TITLE_BREAK_UNITS_MIN {
            last_break = Some(kept.len());
        }
        units = next;
        kept.push(character);
    }
    kept.truncate(last_break.unwrap_or(kept.len()));
    kept.push(ELLIPSIS);
    kept
}

fn from_id(known: &Known<'_>) -> String {
    let short: String = known.session_id.chars().take(SHORT_ID_CHARS).collect();
    match known.updated_at.filter(|moment| moment.millis() > 0) {
        Some(moment) => format!("{short} ({})", day(moment)),
        None => short,
    }
}

/// The day of a moment after 1970 as `YYYY-MM-DD`, UTC.
fn day(moment: Timestamp) -> String {
    // Counted from 1 March of year 0, so that a leap day is the last of its year; 400 years are
    // 146,097 days, whatever they begin with.
    let days = moment.millis().div_euclid(DAY_MILLIS) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let months_since_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    let year = era * 400 + years + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar_over_leap_years_and_centuries() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_399_999, "2000-02-28"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_735_603_200_000, "2024-12-31"),
            (1_783_891_429_000, "2026-07-12"),
            (4_107_542_400_000, "2100-03-01"),
        ];
        for (millis, expected) in cases {
            assert_eq!(day(Timestamp::from_millis(millis)), expected);
        }
    }

    #[test]
    fn a_title_of_words_is_cut_at_the_last_blank() {
        let said = "please look at the release notes and tell me what is missing from them";
        assert_eq!(
            shorten(said),
            "please look at the release notes and tell me what is…"
        );
    }

    #[test]
    fn blanks_of_every_kind_are_collapsed_and_a_blank_message_is_none() {
        let mut known = Known {
            label: Some(" "),
            display_name: None,
            subject: None,
            first_user_text: Some(" a\n\n b\tc "),
            session_id: "0123456789",
            updated_at: None,
        };
        assert_eq!(derived_title(&known), "a b c");
        known.first_user_text = Some("\n");
        assert_eq!(derived_title(&known), "01234567");
    }
}
