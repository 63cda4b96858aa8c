//! The command line as a person at a terminal uses it (DESIGN section 13; record 0136, "UI API, UI, CLI"): the program
//! itself, with a kubeconfig and with what is typed on standard input, on a real API server and simulated nodes.

#[path = "../common/mod.rs"]
mod common;

mod documentation;
mod endings;
mod plugins;
mod story;
mod talosconfig;
mod terminal;
