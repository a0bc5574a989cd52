//! What the benchmarks of the services share: clients that call again and again ([`load`]), the floor
//! beside which every figure is taken ([`echo`], [`disk`]), a service on a loopback socket ([`serve`])
//! and the table that people read ([`table`]).
//!
//! A benchmark says which calls it makes ([`Case`]) and how long ([`Effort`]); [`Bench::measure`] takes
//! each call and its floor one after the other, so that both meet the same machine.
//!
//! This crate must never know a service, nor be used outside benchmarks.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

pub mod asked;
pub mod disk;
pub mod echo;
pub mod load;
pub mod memory;
pub mod raw;
pub mod serve;
pub mod table;

use std::time::Duration;

use crate::echo::Echo;
use crate::load::Load;
use crate::raw::RawCall;
use crate::table::Line;

/// How long each load lasts, and how many clients the heavier one has.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How long one client calls.
    pub alone: Duration,
    /// How long all of them call.
    pub together: Duration,
    /// How many they are.
    pub clients: usize,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What people call it.
    pub name: &'a str,
    /// Rows of its answer.
    pub rows: u32,
    /// Bytes of its answer.
    pub bytes: usize,
}

/// What every case of a benchmark is measured with.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// The floor.
    pub echo: &'a Echo,
    /// How long.
    pub effort: Effort,
}

impl Bench<'_> {
    /// Measures a case and its floor, one after the other, each at 1 and at many clients. `client`
    /// makes a client on a connection of its own.
    pub async fn measure(&self, case: Case<'_>, client: impl Fn() -> RawCall) -> Line {
        let load = |clients| Load::new((0..clients).map(|_| client()).collect());
        let floor = |clients| {
            let calls = (0..clients).map(|_| self.echo.call(case.bytes));
            Load::new(calls.collect())
        };
        let Effort {
            alone,
            together,
            clients,
        } = self.effort;
        Line {
            name: case.name.to_owned(),
            rows: case.rows,
            bytes: case.bytes,
            alone: load(1).run(alone).await,
            floor_alone: floor(1).run(alone / 3).await,
            together: load(clients).run(together).await,
            floor_together: floor(clients).run(together / 3).await,
            compared: None,
        }
    }
}
