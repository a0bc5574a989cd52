//! Every bound in one place, with its unit and its source.

/// Longest session key, in bytes (D3).
pub const KEY_BYTES_MAX: usize = 512;
/// Longest agent id, in characters (reg:K5).
pub const AGENT_ID_CHARS_MAX: usize = 64;
/// Longest identifier or idempotency key, in bytes.
pub const ID_BYTES_MAX: usize = 256;
/// Longest label, in UTF-16 units (reg:M12).
pub const LABEL_UNITS_MAX: usize = 512;
/// Longest device, workspace or directory in a session's row, in bytes (reg:M5, reg:M21).
pub const SESSION_TEXT_BYTES_MAX: usize = 4096;
/// Longest name of a model in a session's row, in bytes (reg:M22).
pub const MODEL_BYTES_MAX: usize = 256;
/// Most names in an inherited list of tools (reg:M8).
pub const INHERITED_TOOLS_MAX: usize = 100;
/// Longest name of a tool, in bytes (reg:M8).
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// Longest message or task text, in bytes: leaves room for the envelope under the size cap.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Longest field of a route (channel, to, accountId, threadId) and sender name, in bytes.
pub const ROUTE_FIELD_BYTES_MAX: usize = 512;
/// Most blocks in one message.
pub const MESSAGE_BLOCKS_MAX: usize = 1024;
/// Most bytes of messages in one append between services, as they travel: leaves room under the size
/// of a gRPC message (contract).
pub const APPEND_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Most bytes of pictures in one append: the rest of a gRPC message is left to the texts.
pub const PICTURES_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Most messages in one append.
pub const APPEND_MESSAGES_MAX: usize = 1000;
/// Largest gRPC message, in bytes (contract).
pub const GRPC_MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Rows of a session list when nothing is asked (D14).
pub const LIST_LIMIT_DEFAULT: u32 = 100;
/// Most rows of a session list (D14).
pub const LIST_LIMIT_MAX: u32 = 200;
/// Most trailing messages a listing row carries (reg:L5).
pub const LIST_MESSAGES_MAX: u32 = 20;
/// Messages of a history when nothing is asked (D20).
pub const HISTORY_LIMIT_DEFAULT: u32 = 50;
/// Most messages of a history (D20).
pub const HISTORY_LIMIT_MAX: u32 = 1000;
/// Most bytes of messages in one history answer, as JSON (D24).
pub const HISTORY_BYTES_MAX: usize = 81_920;
/// Most UTF-16 units of one text field of a history message (D24).
pub const HISTORY_TEXT_UNITS_MAX: usize = 4000;
/// Longest query of a search in messages, in bytes (D77).
pub const MESSAGE_SEARCH_BYTES_MAX: usize = 512;
/// Hits of a search in messages when nothing is asked (D77).
pub const MESSAGE_SEARCH_LIMIT_DEFAULT: u32 = 20;
/// Most hits of a search in messages (D77).
pub const MESSAGE_SEARCH_LIMIT_MAX: u32 = 100;
/// Most sessions in one batch of tails.
pub const TAILS_SESSIONS_MAX: usize = 200;
/// Most targets of one authorisation (architecture).
pub const AUTHORIZE_TARGETS_MAX: usize = 1000;
/// Most keys in an authorised scope (architecture).
pub const SCOPE_KEYS_MAX: usize = 10_000;

/// Seconds a send waits when nothing is asked (D27).
pub const SEND_TIMEOUT_SECONDS_DEFAULT: u32 = 30;
/// Longest wait a caller may ask for, in seconds: one hour.
pub const WAIT_SECONDS_MAX: u32 = 3600;
/// Reply-loop turns when nothing is configured (D31).
pub const PING_PONG_TURNS_DEFAULT: u32 = 5;
/// Most reply-loop turns that can be configured (D31).
pub const PING_PONG_TURNS_MAX: u32 = 20;
/// Hops of a chain of sends when nothing is configured (D65).
pub const HOPS_DEFAULT: u32 = 20;
/// Most hops that can be configured (D65).
pub const HOPS_MAX: u32 = 100;
/// Lease of a run, in seconds (D70).
pub const RUN_LEASE_SECONDS_DEFAULT: u32 = 15;
/// Heartbeat of a run, in seconds (D70).
pub const RUN_HEARTBEAT_SECONDS_DEFAULT: u32 = 5;
/// Attempts of a run before it ends interrupted (D78).
pub const RUN_ATTEMPTS_MAX_DEFAULT: u32 = 3;
/// Runs that may wait in one session (D78).
pub const QUEUE_PER_SESSION_MAX_DEFAULT: u32 = 1000;
/// Longest time a run may wait in the queue, in seconds (D78).
pub const QUEUE_AGE_SECONDS_DEFAULT: u32 = 86_400;
/// Most runs one process works on at the same time.
pub const RUNS_ACTIVE_MAX: usize = 4096;
/// Most records on a page of runs, flows or deliveries.
pub const RECORDS_LIMIT_MAX: u32 = 200;
/// Most bytes of the records on a page of runs, flows or deliveries, as they travel: leaves room
/// under the size of a gRPC message (contract).
pub const PAGE_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Records on a page of runs, flows or deliveries when nothing is asked.
pub const RECORDS_LIMIT_DEFAULT: u32 = 50;
/// How long an idempotency key is remembered, in hours (D36).
pub const IDEMPOTENCY_HOURS: u32 = 24;
/// Seconds a graceful stop waits for what is in flight (contract).
pub const DRAIN_SECONDS: u64 = 10;
/// Seconds one call between two services may take before it counts as failed.
pub const SERVICE_CALL_SECONDS: u64 = 10;
/// Most concurrent streams on one connection: every parked wait is one.
pub const CONCURRENT_STREAMS_MAX: u32 = 16_384;
