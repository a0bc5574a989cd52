//! Black-box tests over the real binaries: they know the command line, the configuration file, JSON,
//! HTTP and the protos, and nothing of the code behind.
//!
//! A test makes a [`home::Home`] (a configuration and a data directory), starts a
//! [`deployment::Deployment`] there in one of its two shapes, and speaks to it through a
//! [`client::Client`], which runs the command line, or through a [`grpc::Grpc`], which makes typed
//! calls. Nothing waits by sleeping: a test waits for a line of a server, for the end of a process, or
//! with `runs wait` and `flows wait`.
//!
//! This crate must never use another crate of the workspace but the generated types of the protos:
//! what it could not see from outside, no user could rely on either.

pub mod binaries;
pub mod client;
pub mod deployment;
pub mod exchange;
pub mod grpc;
pub mod home;
pub mod http;
pub mod json;
pub mod lifecycle;
pub mod process;
