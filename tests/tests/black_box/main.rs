//! What confab does, seen from outside: one module for each subject. Ids like B016 in comments name
//! the fault that a test keeps away; users of comparable systems met it.

mod announcing;
mod awareness;
mod bad_input;
mod configuration;
mod damaged_store;
mod every_call;
mod importing;
mod lifecycle;
mod listing;
mod main_flow;
mod many_clients;
mod policies;
mod reach;
mod reply_loop;
mod restarts;
mod rows;
mod searching;
mod secrets;
mod sending;
mod servers;
mod targets;
mod thousand_patches;
mod tokens;
mod tool_policies;
mod visibility;
