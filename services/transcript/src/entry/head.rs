//! What of a line its place in the file depends on.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Fault;
use super::field::Field;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The header.
    Header,
    /// A message.
    Message,
    /// The marker of a compaction.
    Compaction,
    /// Names the leaf.
    Leaf,
    /// Another entry of the conversation's tree.
    Note,
    /// An entry that this version does not know; it can have children, and is never the leaf.
    Unknown,
}

/// What an entry hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Not told: on the leaf, as in files that are a plain list.
    Absent,
    /// Nothing: a root.
    Root,
    /// The entry with this id.
    Named(String),
}

/// The place of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is.
    pub sort: Sort,
    /// Its id.
    pub id: Option<String>,
    /// What it hangs on; for a leaf entry, the leaf that it names.
    pub link: Link,
    /// Whether it was put beside the conversation, which goes on without it.
    pub side: bool,
}

impl Head {
    /// Reads the place of the entry in a line.
    ///
    /// # Errors
    /// When the line is no JSON, or no entry.
    ///
    /// Source: run:T3, run:T4, run:T14, run:T28.
    pub fn read(line: &str) -> Result<Self, Fault> {
        let first = line.bytes().find(|byte| !byte.is_ascii_whitespace());
        let fields: Fields =
            serde_json::from_str(line).map_err(|error| match (error.classify(), first) {
                (serde_json::error::Category::Data, _) => Fault::NoObject,
                (_, Some(b'{')) => Fault::Syntax(error.column()),
                _ if serde_json::from_str::<IgnoredAny>(line).is_ok() => Fault::NoObject,
                _ => Fault::Syntax(error.column()),
            })?;
        let sort = fields.sort()?;
        let hangs_on = if sort == Sort::Leaf {
            fields.target
        } else {
            fields.parent
        };
        Ok(Self {
            sort,
            id: fields.id.text(),
            link: if hangs_on == Field::Null {
                Link::Root
            } else {
                hangs_on.text().map_or(Link::Absent, Link::Named)
            },
            side: fields.append_mode == Field::Text("side".to_owned()),
        })
    }
}

#[derive(Default)]
struct Fields {
    sort: Field,
    id: Field,
    parent: Field,
    target: Field,
    append_mode: Field,
    role: Field,
    message: Field,
}

impl Fields {
    /// Messages of older releases stand alone, without an entry around them.
    fn sort(&self) -> Result<Sort, Fault> {
        let Field::Text(word) = &self.sort else {
            let is_message =
                matches!(self.role, Field::Text(_)) || matches!(self.message, Field::Object);
            return if is_message {
                Ok(Sort::Message)
            } else {
                Err(Fault::NoEntry)
            };
        };
        Ok(match word.as_str() {
            "session" => Sort::Header,
            "message" => Sort::Message,
            "compaction" => Sort::Compaction,
            "leaf" => Sort::Leaf,
            "thinking_level_change"
            | "model_change"
            | "branch_summary"
            | "custom"
            | "custom_message"
            | "label"
            | "session_info"
            | "reset" => Sort::Note,
            _ => Sort::Unknown,
        })
    }

    fn field(&mut self, name: &str) -> Option<&mut Field> {
        Some(match name {
            "type" => &mut self.sort,
            "id" => &mut self.id,
            "parentId" => &mut self.parent,
            "targetId" => &mut self.target,
            "appendMode" => &mut self.append_mode,
            "role" => &mut self.role,
            "message" => &mut self.message,
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// Of a field that is there twice, the last counts, as everywhere in JSON.
    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(Field::Text(name)) = given.next_key::<Field>()? {
            match fields.field(&name) {
                Some(field) => *field = given.next_value()?,
                None => {
                    given.next_value::<IgnoredAny>()?;
                },
            }
        }
        Ok(fields)
    }
}
