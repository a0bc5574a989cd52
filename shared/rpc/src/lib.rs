//! Everything gRPC that is not one service's.
//!
//! - who calls: [`caller`], [`identity`], [`roles`], [`layer`];
//! - whether they may: [`gate`];
//! - what goes wrong: [`error`];
//! - how records travel: [`wire`], and how calls are compared: [`fingerprint`];
//! - how calls are made, served and observed: [`clients`], [`serve`], [`observe`];
//! - how a server process lives: [`launch`].
//!
//! This crate must never decide a policy (that is `confab-policy`'s) nor store anything.

pub mod caller;
pub mod clients;
pub mod error;
pub mod fingerprint;
pub mod gate;
pub mod identity;
pub mod launch;
pub mod layer;
pub mod observe;
pub mod roles;
pub mod serve;
pub mod wire;
