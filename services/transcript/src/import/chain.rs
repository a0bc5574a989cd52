//! What an entry would hang on, were it written anew: it hangs on the one before it.

use crate::entry::write::Parent;

/// The end of a chain of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    last: Parent,
}

impl Chain {
    /// What the next entry hangs on.
    pub(crate) const fn end(&self) -> &Parent {
        &self.last
    }

    /// Adds an entry, with its id if it has one.
    pub(crate) fn add(&mut self, id: Option<String>) {
        self.last = Parent::named(id);
    }
}
