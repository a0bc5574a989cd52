//! What confab does, seen from outside: one module for each subject. Ids like B016 in comments name
//! the fault that a test keeps away; users of comparable systems met it.

mod announcing;
mod bad_input;
mod configuration;
mod listing;
mod main_flow;
mod many_clients;
mod reply_loop;
mod restarts;
mod sending;
mod servers;
mod targets;
mod tokens;
mod visibility;
