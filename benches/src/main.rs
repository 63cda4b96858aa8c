//! Measures Ichor beside its peers, in one run (DESIGN section 17). Figures are printed and written to
//! `target/bench/report.md`; none is asserted, since they say as much about the machine as about Ichor.
//!
//! One binary plays every part: it drives the run, and starts itself as a server under load (`serve`) and as the
//! generator of load (`load`), each pinned to a core of its own.

mod admission;
mod confirm;
mod connect;
mod cores;
mod crowded;
mod figures;
mod hold;
mod idle;
mod kinds;
mod large;
mod live;
mod load;
mod mint;
mod process;
mod report;
mod review;
mod run;
mod scale;
mod serve;
mod slow;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Measures Ichor beside its peers")]
enum Part {
    /// Measure everything and write the report.
    Run(run::Args),
    /// Serve admission reviews until standard input ends.
    Serve(serve::Args),
    /// Send admission reviews and print how they were answered.
    Load(load::Args),
    /// Send large bodies and print how they were answered.
    Large(large::Args),
    /// Hold connections as slow clients and print how they fared.
    Hold(hold::Args),
    /// Mint client certificates and print how many there were.
    Mint,
}

fn main() -> anyhow::Result<()> {
    // One thread for what is measured on one core; the driver waits for others, and for two control planes.
    match Part::parse() {
        Part::Serve(args) => one_thread()?.block_on(serve::serve(args)),
        Part::Load(args) => one_thread()?.block_on(load::load(args)),
        Part::Large(args) => one_thread()?.block_on(large::send(args)),
        Part::Hold(args) => one_thread()?.block_on(hold::hold(args)),
        Part::Mint => mint::mint(),
        Part::Run(args) => tokio::runtime::Runtime::new()?.block_on(run::run(args)),
    }
}

fn one_thread() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}
