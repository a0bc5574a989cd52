//! Thin tonic adapters: parse, admit, one call, render.

mod policy;
mod registry;
mod rows;
mod streams;

pub use policy::PolicyApi;
pub use registry::RegistryApi;
pub use rows::Rows;
