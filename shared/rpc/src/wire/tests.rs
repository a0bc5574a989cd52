//! Round trips and refusals of the conversions.

mod arbitrary;
mod incoming;
mod round_trips;
