//! Round trips and refusals of the conversions.

mod arbitrary;
mod incoming;
mod patches;
mod pictures;
mod round_trips;
mod rows;
