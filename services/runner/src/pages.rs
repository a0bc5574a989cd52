//! Pages of lists: the token of the next one, and their size in bytes.

use std::marker::PhantomData;

use confab_store::page::{self, Cursor, PageTokenError};
use serde::{Deserialize, Serialize};

use crate::store::{Page, RecordCursor};

/// A list that is shown by pages.
pub trait List {
    /// Names it in its page tokens, in small letters; unique among the lists.
    const NAME: &'static str;
}

/// A cursor that says which list it belongs to: the lists' cursors are otherwise alike, and one used
/// with another list would skip rows without a word.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
struct Token<L> {
    cursor: RecordCursor,
    #[serde(skip)]
    list: PhantomData<L>,
}

impl<L: List> Cursor for Token<L> {
    const KIND: &'static str = L::NAME;
}

/// The token of the page behind `cursor`.
pub fn token<L: List>(cursor: RecordCursor) -> String {
    let list = PhantomData::<L>;
    page::encode(&Token { cursor, list })
}

/// Where the page of `token` begins.
///
/// # Errors
/// When it is no token of this list.
pub fn cursor<L: List>(token: &str) -> Result<RecordCursor, PageTokenError> {
    page::decode::<Token<L>>(token).map(|token| token.cursor)
}

/// Shows a page as far as `bytes_max` bytes reach, but at least its first row: what is left out is on
/// the next page.
pub fn fit<T, R>(
    page: &Page<T>,
    bytes_max: usize,
    show: impl Fn(&T) -> R,
    size: impl Fn(&R) -> usize,
) -> Page<R>
where
    for<'t> RecordCursor: From<&'t T>,
{
    let mut rows = Vec::with_capacity(page.rows.len());
    let mut bytes = 0_usize;
    let mut last = None;
    for row in &page.rows {
        let shown = show(row);
        bytes = bytes.saturating_add(size(&shown));
        if let Some(last) = last.filter(|_| bytes > bytes_max) {
            let next = Some(RecordCursor::from(last));
            return Page { rows, next };
        }
        rows.push(shown);
        last = Some(row);
    }
    let next = page.next.clone();
    Page { rows, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row by its place and its size.
    struct Row(i64, usize);

    impl From<&Row> for RecordCursor {
        fn from(row: &Row) -> Self {
            place(row.0)
        }
    }

    fn place(number: i64) -> RecordCursor {
        RecordCursor {
            created_at: number,
            id: number.to_string(),
        }
    }

    /// The places on a page of at most ten bytes of such rows, and where the next page begins.
    fn fitted(sizes: &[usize], next: Option<RecordCursor>) -> (Vec<i64>, Option<RecordCursor>) {
        let rows = (1..).zip(sizes).map(|(number, size)| Row(number, *size));
        let page = Page {
            rows: rows.collect(),
            next,
        };
        let shown = fit(&page, 10, |row| (row.0, row.1), |(_, size)| *size);
        let places = shown.rows.into_iter().map(|(number, _)| number);
        (places.collect(), shown.next)
    }

    #[test]
    fn a_page_that_just_fits_is_shown_whole_and_keeps_its_next_page() {
        for next in [None, Some(place(99))] {
            assert_eq!(fitted(&[4, 4, 2], next.clone()), (vec![1, 2, 3], next));
        }
    }

    #[test]
    fn a_page_that_is_a_byte_too_large_ends_before_the_row_at_fault() {
        for next in [None, Some(place(99))] {
            assert_eq!(fitted(&[4, 4, 3, 1], next), (vec![1, 2], Some(place(2))));
        }
    }

    #[test]
    fn a_first_row_that_is_too_large_is_shown_alone() {
        assert_eq!(fitted(&[11, 1], None), (vec![1], Some(place(1))));
        assert_eq!(fitted(&[11], None), (vec![1], None));
        assert_eq!(fitted(&[], None), (vec![], None));
    }
}
