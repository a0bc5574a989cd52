//! The configuration file: schema as written, settings as believed, live reload.
//!
//! A file is read once into [`Settings`], whose values are checked; the rest of the code cannot meet
//! an invalid one. This crate must never hold a secret's value in a message, and nothing but
//! [`source`] may read the environment or a file.

pub mod check;
pub mod effective;
pub mod live;
pub mod settings;
pub mod source;

mod fingerprint;
mod schema;

pub use check::{LoadError, Loaded, Problems, load};
pub use confab_text::redact::Redactor;
pub use effective::Effective;
pub use live::Live;
pub use schema::nearest;
pub use settings::Settings;
pub use source::Source;
