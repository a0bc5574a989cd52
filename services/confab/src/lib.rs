//! The binary for people: all-in-one server, command line, demo.
//!
//! - what can be typed: [`cli`]; what it does: [`commands`], over the typed clients of [`connect`];
//! - what is shown: [`render`]; how a command ends: [`exit`];
//! - the server: [`up`]; the demonstration, which is a server and a client of its own: [`demo`].
//!
//! This crate must never decide what a service decides, nor read or write a service's database: it
//! talks to services through their gRPC surfaces only, in process as over the network.

mod assembly;
pub mod cli;
pub mod commands;
pub mod connect;
pub mod demo;
pub mod exit;
mod openclaw;
pub mod render;
pub mod up;
