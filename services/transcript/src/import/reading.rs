//! The second reading of a file: every line as what it is, in batches.

use std::io::{self, Read};

use confab_model::id::MessageId;
use confab_model::message::{Blob, Message, NewMessage};
use confab_rpc::error::RpcError;
use confab_rpc::wire;
use serde_json::Value;

use super::chain::Chain;
use super::lines::{Cut, Lines};
use super::spool::{Part, Spool};
use crate::entry::head::{Head, Sort};
use crate::entry::read::{self, FirstKept, Meaning};
use crate::entry::tree::{Line, Tree};
use crate::entry::write::{self, Manner, Pictures};
use crate::entry::{self, Fault, key, pictures};
use crate::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_ENTRIES, IMPORT_LINES_MAX};

/// Lines that are stored together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// What is to be stored, in order.
    pub(super) found: Vec<Found>,
    /// Lines that cannot be.
    pub(super) faults: Vec<(u64, Fault)>,
    bytes: usize,
}

impl Batch {
    const fn is_full(&self) -> bool {
        self.found.len() >= IMPORT_BATCH_ENTRIES
            || self.faults.len() >= IMPORT_BATCH_ENTRIES
            || self.bytes >= IMPORT_BATCH_BYTES
    }

    const fn is_empty(&self) -> bool {
        self.found.is_empty() && self.faults.is_empty()
    }

    fn add(&mut self, number: u64, read: Result<Found, Fault>) {
        match read {
            Ok(found) => {
                let blobs = found.blobs.iter().map(|blob| blob.bytes.len());
                let bytes = blobs.fold(found.line.len(), usize::saturating_add);
                self.bytes = self.bytes.saturating_add(bytes);
                self.found.push(found);
            },
            Err(fault) => self.faults.push((number, fault)),
        }
    }
}

/// An entry that is to be stored.
#[derive(Debug)]
pub(super) struct Found {
    /// Its line's number.
    pub(super) number: u64,
    /// Names it within its session.
    pub(super) name: String,
    /// Its line, without the bytes of pictures.
    pub(super) line: String,
    /// Whether it is of the conversation.
    pub(super) on_branch: bool,
    /// Its pictures.
    pub(super) blobs: Vec<Blob>,
    /// What it says.
    pub(super) content: Content,
}

/// What an entry says.
#[derive(Debug)]
pub(super) enum Content {
    /// Nothing that a conversation holds.
    Aside,
    /// A message; for a compaction, the key of the first message that it keeps; whether the line can
    /// be written again from the message alone.
    Message(Box<NewMessage>, Option<String>, bool),
}

/// A file that is read for the second time.
pub(super) struct Reading {
    spool: Spool,
    lines: Lines<Part>,
    tree: Tree,
    place: u32,
    /// Which lines became messages, by place.
    messages: Vec<bool>,
    chain: Chain,
    /// Whether a message was passed over since the last one: an earlier import may have stored it, and
    /// then it is a link of the chain.
    gap: bool,
}

/// A line as it was parsed.
struct Parsed {
    head: Head,
    value: Value,
    found: Found,
    first_kept: Option<FirstKept>,
}

impl Reading {
    /// Reads a file for the first time: the tree of its entries.
    ///
    /// # Errors
    /// When it cannot be read, or has more lines than an import may have.
    pub(super) fn of(spool: Spool) -> Result<Self, RpcError> {
        let mut first = Lines::of(spool.read_from(0));
        let mut lines = Vec::new();
        while let Some(cut) = first.next().map_err(super::broken)? {
            if lines.len() >= IMPORT_LINES_MAX {
                return Err(too_many_lines());
            }
            lines.push(line_of(&first, &cut));
        }
        Ok(Self {
            lines: Lines::of(spool.read_from(0)),
            messages: vec![false; lines.len()],
            tree: Tree::of(lines),
            place: 0,
            chain: Chain::default(),
            gap: false,
            spool,
        })
    }

    /// Reads the next lines; nothing where none are left.
    pub(super) fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        let mut batch = Batch::default();
        while !batch.is_full() {
            let Some(cut) = self.lines.next()? else { break };
            let found = match self.parse(&cut) {
                Ok(parsed) => Ok(self.complete(parsed)?),
                Err(fault) => Err(fault),
            };
            self.place = self.place.saturating_add(1);
            batch.add(cut.number, found);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    fn parse(&self, cut: &Cut) -> Result<Parsed, Fault> {
        let text = self.lines.text(cut)?;
        let head = head_of(text, cut)?;
        if self.tree.is_duplicate(self.place) {
            return Err(Fault::Duplicate);
        }
        let mut value = entry::json(text)?;
        let blobs = pictures::take_out(&mut value);
        let line = if blobs.is_empty() {
            text.to_owned()
        } else {
            value.to_string()
        };
        let name = match head.sort {
            Sort::Header => key::of_header(head.id.as_deref()),
            Sort::Message | Sort::Compaction | Sort::Leaf | Sort::Note | Sort::Unknown => {
                key::of_entry(head.id.as_deref(), cut.number, text)
            },
        };
        let on_branch = self.tree.is_on_branch(self.place);
        let meaning = match head.sort {
            Sort::Message if on_branch => read::message(&value, name.clone(), &blobs)?,
            Sort::Compaction if on_branch => read::compaction(&value, name.clone())?,
            Sort::Message
            | Sort::Compaction
            | Sort::Header
            | Sort::Leaf
            | Sort::Note
            | Sort::Unknown => Meaning::Aside,
        };
        let (content, first_kept) = match meaning {
            Meaning::Message(body) => (Content::Message(body, None, false), None),
            Meaning::Compaction(body, first) => (Content::Message(body, None, false), first),
            Meaning::Aside => (Content::Aside, None),
        };
        let found = Found {
            number: cut.number,
            name,
            line,
            on_branch,
            blobs,
            content,
        };
        Ok(Parsed {
            head,
            value,
            found,
            first_kept,
        })
    }

    /// Adds what follows from the lines before it.
    fn complete(&mut self, parsed: Parsed) -> io::Result<Found> {
        let Parsed {
            head,
            value,
            mut found,
            first_kept,
        } = parsed;
        if let Content::Message(body, ..) = found.content {
            let kept = self.first_kept(first_kept)?;
            let (key, id) = kept.unzip();
            let body = as_stored(*body);
            let again = self.written_again(&body, id.flatten().as_deref());
            let reproducible = !self.gap && again.as_ref() == Some(&value);
            found.content = Content::Message(Box::new(body), key, reproducible);
            self.note_message();
        } else {
            self.gap |= head.sort == Sort::Message || head.sort == Sort::Compaction;
        }
        if found.on_branch {
            self.chain.add(head.id);
        }
        Ok(found)
    }

    fn note_message(&mut self) {
        self.gap = false;
        let place = usize::try_from(self.place).ok();
        if let Some(mark) = place.and_then(|place| self.messages.get_mut(place)) {
            *mark = true;
        }
    }

    /// The entry that an export would write for a message.
    fn written_again(&self, body: &NewMessage, first_kept: Option<&str>) -> Option<Value> {
        let message = Message {
            id: MessageId::parse("import").ok()?,
            seq: 0,
            at: body.at?,
            body: body.clone(),
        };
        let manner = Manner {
            parent: self.chain.end(),
            first_kept,
            pictures: Pictures::Referenced,
        };
        Some(write::entry(&message, &manner))
    }

    /// The key and the id of the first message that a compaction keeps: the entry that it names, or
    /// the first message behind it.
    fn first_kept(&self, named: Option<FirstKept>) -> io::Result<Option<(String, Option<String>)>> {
        let named = match named {
            Some(FirstKept::Id(id)) => self.tree.place_of(&id),
            Some(FirstKept::Index(index)) => self.tree.place_of_index(index),
            None => None,
        };
        let Some(named) = named else { return Ok(None) };
        let first = usize::try_from(named).unwrap_or(usize::MAX);
        let messages = (named..self.place).zip(self.messages.iter().skip(first));
        let mut kept = messages.filter(|(_, is_message)| **is_message);
        let Some(line) = kept.next().and_then(|(place, _)| self.tree.line(place)) else {
            return Ok(None);
        };
        self.name_at(line)
    }

    /// The key and the id of the entry in a line.
    fn name_at(&self, line: &Line) -> io::Result<Option<(String, Option<String>)>> {
        let mut lines = Lines::of(self.spool.read_from(line.offset));
        let Some(cut) = lines.next()? else {
            return Ok(None);
        };
        let Ok(text) = lines.text(&cut) else {
            return Ok(None);
        };
        let id = Head::read(text).ok().and_then(|head| head.id);
        let name = key::of_entry(id.as_deref(), line.number.into(), text);
        Ok(Some((name, id)))
    }
}

/// A message as it comes back from the database, where numbers are floats.
fn as_stored(body: NewMessage) -> NewMessage {
    wire::message::unpack(&wire::message::pack(&body)).unwrap_or(body)
}

fn line_of<R: Read>(lines: &Lines<R>, cut: &Cut) -> Line {
    let number = u32::try_from(cut.number).unwrap_or(u32::MAX);
    let head = lines.text(cut).and_then(|text| head_of(text, cut));
    match head {
        Ok(head) => Line::entry(cut.offset, number, &head),
        Err(_) => Line::broken(cut.offset, number),
    }
}

/// A last line that is no JSON and has no end was cut off.
fn head_of(text: &str, cut: &Cut) -> Result<Head, Fault> {
    Head::read(text).map_err(|fault| {
        if !cut.ended && matches!(fault, Fault::Syntax(_)) {
            return Fault::CutOff;
        }
        fault
    })
}

fn too_many_lines() -> RpcError {
    RpcError::invalid_field(
        "lines",
        format!(
            "lines are more than {IMPORT_LINES_MAX}, which are allowed: split the file and import \
             its parts in order"
        ),
    )
}

#[cfg(test)]
mod tests;
