//! What became of the lines of an import.

use std::collections::BTreeMap;

use super::reading::Batch;
use crate::entry;
use crate::limits::IMPORT_FAULTS_MAX;
use crate::store::imports::ImportOutcome;

/// A line that was not stored, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The counts of an import: every line that is not blank is in exactly one of the first four.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages stored.
    pub imported: u64,
    /// Messages that were stored already.
    pub repeated: u64,
    /// Lines that could not be read, or not stored.
    pub skipped: u64,
    /// The header, and entries that are no messages of the conversation.
    pub kept_aside: u64,
    /// Lines that are not blank.
    pub lines: u64,
    faults: BTreeMap<u64, String>,
}

impl Tally {
    /// The first of the lines that were skipped.
    pub fn faults(&self) -> Vec<Fault> {
        let faults = self.faults.iter();
        faults
            .map(|(line, reason)| Fault {
                line: *line,
                reason: reason.clone(),
            })
            .collect()
    }

    /// Counts what could not be read of a batch.
    pub(super) fn add_batch(&mut self, batch: &Batch) {
        for (number, fault) in &batch.faults {
            self.lines = self.lines.saturating_add(1);
            self.skip(*number, fault);
        }
    }

    /// Counts a line that was to be stored.
    pub(super) fn add(&mut self, number: u64, outcome: ImportOutcome) {
        self.lines = self.lines.saturating_add(1);
        match outcome {
            ImportOutcome::Stored => self.imported = self.imported.saturating_add(1),
            ImportOutcome::Repeated => self.repeated = self.repeated.saturating_add(1),
            ImportOutcome::Kept => self.kept_aside = self.kept_aside.saturating_add(1),
            ImportOutcome::Differs => self.skip(number, &entry::Fault::Stored),
        }
    }

    fn skip(&mut self, number: u64, fault: &entry::Fault) {
        self.skipped = self.skipped.saturating_add(1);
        self.faults.insert(number, format!("the line {fault}"));
        if self.faults.len() > IMPORT_FAULTS_MAX {
            self.faults.pop_last();
        }
    }
}
