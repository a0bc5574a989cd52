//! Pictures on their way into a transcript: their bytes are taken out of the message, which keeps
//! their name.

use std::collections::BTreeMap;

use confab_model::limits::PICTURES_BYTES_MAX;
use confab_model::message::{Blob, Block};
use confab_proto::types::v1 as proto;
use sha2::{Digest as _, Sha256};

use super::{NAME_BYTES_MAX, count_from_wire};
use crate::error::Violations;
use crate::wire::fields;

/// The pictures that came as bytes.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// By their names: the same bytes are kept once.
    by_reference: BTreeMap<String, Vec<u8>>,
    /// What came, the same bytes counted as often as they came.
    bytes: usize,
}

impl Pictures {
    /// Reads a picture: its bytes, or the name of those that are kept already.
    pub(super) fn image_from_wire(
        &mut self,
        wire: proto::ImageBlock,
        field: &str,
        violations: &mut Violations,
    ) -> Option<Block> {
        let path = |name: &str| format!("{field}.{name}");
        let mime_type = fields::required_from_wire(
            wire.mime_type,
            NAME_BYTES_MAX,
            &path("mimeType"),
            violations,
        );
        let bytes = count_from_wire(wire.bytes, &path("bytes"), violations);
        let (reference, bytes) = match wire.data {
            Some(data) => self.keep(data.into(), &wire.reference, bytes?, field, violations)?,
            None if wire.reference.trim().is_empty() => {
                violations.push(
                    path("reference"),
                    format!(
                        "{field} has neither data nor reference; give the picture's bytes as \
                         data, or the reference of a picture that is stored"
                    ),
                );
                return None;
            },
            None => {
                let reference = fields::required_from_wire(
                    wire.reference,
                    NAME_BYTES_MAX,
                    &path("reference"),
                    violations,
                );
                (reference?, bytes?)
            },
        };
        Some(Block::Image {
            mime_type: mime_type?,
            reference,
            bytes,
        })
    }

    /// Keeps the bytes under the name that follows from them.
    fn keep(
        &mut self,
        data: Vec<u8>,
        reference: &str,
        told: u64,
        field: &str,
        violations: &mut Violations,
    ) -> Option<(String, u64)> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let fault = if !reference.is_empty() {
            Some(format!(
                "{field} has both data and reference; give one of them: the reference follows \
                 from the data"
            ))
        } else if data.is_empty() {
            Some(format!(
                "{field}.data is empty; give the picture's bytes, or the reference of a picture \
                 that is stored"
            ))
        } else if told != 0 && told != length {
            Some(format!(
                "{field}.bytes is {told}, but data has {length} bytes; leave bytes out beside data"
            ))
        } else {
            None
        };
        if let Some(fault) = fault {
            violations.push(format!("{field}.data"), fault);
            return None;
        }
        self.bytes = self.bytes.saturating_add(data.len());
        let reference = Blob::reference_of(Sha256::digest(&data).into());
        self.by_reference.insert(reference.clone(), data);
        Some((reference, length))
    }

    /// What is to be stored beside the messages of `field`.
    pub(super) fn into_blobs(self, field: &str, violations: &mut Violations) -> Vec<Blob> {
        if self.bytes > PICTURES_BYTES_MAX {
            violations.push(
                field,
                format!(
                    "{field} have {} bytes of pictures together; at most {PICTURES_BYTES_MAX} are \
                     allowed in one call: append the messages in several calls",
                    self.bytes
                ),
            );
            return Vec::new();
        }
        let kept = self.by_reference.into_iter();
        kept.map(|(reference, bytes)| Blob { reference, bytes })
            .collect()
    }
}
