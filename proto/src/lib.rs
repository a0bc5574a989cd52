//! Generated gRPC types and the descriptor set of confab, nothing else.
//!
//! The comments are those of the protos. RPCs that a service does not implement answer
//! `UNIMPLEMENTED` by the generated default.

/// The descriptors of every proto, imports included: what reflection serves.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

macro_rules! package {
    ($(#[$doc:meta])* $area:ident, $package:literal) => {
        $(#[$doc])*
        pub mod $area {
            /// Version 1.
            #[allow(clippy::all, clippy::pedantic, missing_docs, unused_qualifications, unreachable_pub, reason = "generated code")]
            pub mod v1 {
                tonic::include_proto!($package);
            }
        }
    };
}

package!(
    /// Records that several services speak of.
    types, "confab.types.v1"
);
package!(
    /// Sessions.
    registry, "confab.registry.v1"
);
package!(
    /// Messages.
    transcript, "confab.transcript.v1"
);
package!(
    /// Runs, flows, deliveries, workers.
    runner, "confab.runner.v1"
);
package!(
    /// The session tools.
    tools, "confab.tools.v1"
);
package!(
    /// Explanations.
    policy, "confab.policy.v1"
);
