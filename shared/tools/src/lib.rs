//! The session tools: JSON in, JSON out, over the typed clients.
//!
//! - what there is and how one is run: [`Toolbox`], served over gRPC by [`ToolsServer`];
//! - reading arguments, with all faults told together: `input`, and `schema` for what is told of
//!   them beforehand;
//! - the tools themselves, each with its arguments and its result: `list`, `history`,
//!   `search`, `send`, `status`, `agents`.
//!
//! This crate joins what two services know, and must never decide who may see or reach what: the
//! services do, for the caller on whose behalf every call travels.

mod agents;
mod failure;
mod history;
mod input;
mod limits;
mod list;
mod object;
mod schema;
mod search;
mod send;
mod server;
mod shown;
mod status;
pub mod title;
mod tool;
mod toolbox;

pub use list::row::session_row;
pub use server::ToolsServer;
pub use tool::ToolSpec;
pub use toolbox::{Clients, Invocation, Toolbox};
