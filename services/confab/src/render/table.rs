//! Tables of at most [`COLUMNS`] columns.

use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets,
};

use super::paint::{Paint, Tone};
use super::text;

/// Widest line of anything that is shown to people.
pub const COLUMNS: usize = 100;

/// Columns between two columns of a table: comfy-table's padding.
const PADDING: usize = 2;

/// One column: its heading and how wide it may be.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Widest content; longer ones are cut.
    pub columns_max: usize,
    /// Whether a long content is cut in its middle (keys) instead of at its end (texts).
    pub middle: bool,
}

impl Column {
    /// A column of texts, cut at their end.
    pub const fn text(title: &'static str, columns_max: usize) -> Self {
        Self {
            title,
            columns_max,
            middle: false,
        }
    }

    /// A column of keys or ids, cut in their middle.
    pub const fn key(title: &'static str, columns_max: usize) -> Self {
        Self {
            title,
            columns_max,
            middle: true,
        }
    }

    fn fit(self, content: &str) -> String {
        if self.middle {
            text::middle(content, self.columns_max)
        } else {
            text::first_line(content, self.columns_max)
        }
    }
}

/// One field of a row: its content as others wrote it, and what it means.
#[derive(Clone, Debug)]
pub struct Field {
    content: String,
    tone: Tone,
}

impl Field {
    /// A field without a meaning of its own.
    pub fn plain(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            tone: Tone::Plain,
        }
    }

    /// A field that means something.
    pub fn toned(tone: Tone, content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            tone,
        }
    }
}

/// The rows below their headings, every row on one line, without a line end behind the last.
pub fn render(columns: &[Column], rows: Vec<Vec<Field>>, paint: Paint) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if paint.is_on() {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let titles = columns
        .iter()
        .map(|column| Cell::new(column.title).add_attribute(Attribute::Bold));
    table.set_header(titles.collect::<Vec<_>>());
    for row in rows {
        let cells = columns.iter().zip(row);
        table.add_row(
            cells
                .map(|(column, field)| cell(*column, &field))
                .collect::<Vec<_>>(),
        );
    }
    for (column, made) in columns.iter().zip(table.column_iter_mut()) {
        let widest = u16::try_from(column.columns_max + PADDING).unwrap_or(u16::MAX);
        made.set_padding((0, 2))
            .set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(widest)));
    }
    table.trim_fmt()
}

fn cell(column: Column, field: &Field) -> Cell {
    let made = Cell::new(column.fit(&field.content));
    match field.tone {
        Tone::Heading => made.add_attribute(Attribute::Bold),
        Tone::Actor => made.fg(Color::DarkCyan),
        Tone::Quiet => made.add_attribute(Attribute::Dim),
        Tone::Good => made.fg(Color::DarkGreen),
        Tone::Busy => made.fg(Color::DarkYellow),
        Tone::Bad => made.fg(Color::DarkRed),
        Tone::Plain => made,
    }
}

/// Names and values below one another, for one record; fields without a value are left out.
pub fn card(fields: &[(&str, Option<Field>)], paint: Paint) -> String {
    let present = || {
        fields
            .iter()
            .filter_map(|(name, field)| Some((*name, field.as_ref()?)))
    };
    let widest = present()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    let room = COLUMNS.saturating_sub(widest + PADDING);
    let lines = present().map(|(name, field)| {
        let name = paint.tone(Tone::Quiet, &format!("{name:widest$}"));
        let value = paint.tone(field.tone, &text::cut(&text::line(&field.content), room));
        format!("{name}  {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [Column; 2] = [Column::key("KEY", 10), Column::text("TEXT", 12)];

    #[test]
    fn a_row_takes_one_line_whatever_is_in_it() {
        let rows = vec![vec![
            Field::plain("agent:editor:main"),
            Field::plain("one\ntwo\u{1b}[2J"),
        ]];
        assert_eq!(
            render(&TWO, rows, Paint::new(false)),
            "KEY         TEXT\nagent…main  one …"
        );
    }

    #[test]
    fn colours_do_not_change_what_is_read() {
        let rows = || vec![vec![Field::toned(Tone::Good, "done"), Field::plain("x")]];
        let painted = render(&TWO, rows(), Paint::new(true));
        assert!(painted.contains('\u{1b}'), "{painted:?}");
        assert!(!render(&TWO, rows(), Paint::new(false)).contains('\u{1b}'));
    }

    #[test]
    fn a_card_leaves_out_what_is_absent_and_fits() {
        let long = Field::plain("x".repeat(300));
        let shown = card(
            &[
                ("key", Some(Field::plain("k"))),
                ("label", None),
                ("in", Some(long)),
            ],
            Paint::new(false),
        );
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines.iter().all(|line| text::width(line) <= COLUMNS),
            "{shown}"
        );
        assert!(lines[0].starts_with("key  k"));
    }
}
