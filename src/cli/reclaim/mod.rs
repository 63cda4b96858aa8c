//! `ichor machine reclaim`: create the request as the person, show the inspection, ask for the UUID, show
//! the progress, register the address (record 0136). The flow is `begin` (create or take up a request) →
//! `session` (follow, ask, follow) → `finish` (register, and how to go on); what the object says is told by
//! `story`, which is pure.

mod args;
mod ask;
mod begin;
mod finish;
mod follow;
mod session;
mod story;

pub use args::{LONG_ABOUT, ReclaimArgs};

use super::errors;
use super::outcome::Outcome;
use super::output;
use super::screen::Screen;
use session::Session;
use std::process::ExitCode;

/// Runs the command; every way it can end has its exit code.
pub fn main(args: ReclaimArgs) -> ExitCode {
    let ended = super::runtime().and_then(|runtime| runtime.block_on(reclaim(args)));
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("{}", errors::render(&error));
            Outcome::Failed.into()
        }
    }
}

async fn reclaim(args: ReclaimArgs) -> anyhow::Result<Outcome> {
    let client = args.connect.client(args.kube_context.as_deref()).await?;
    let mut screen = Screen::new(args.output.is_some());
    let begun = begin::begin(&client, &args, &mut screen).await?;
    let mut session = Session::new(client, begun, screen, args.timeout)?;
    let ended = session.run().await;
    session.rest();
    if let Some(format) = args.output {
        output::print(session.request(), format)?;
    }
    match ended {
        Ok(outcome) => Ok(outcome),
        // The request is there: an error ends this command, not the reclaim.
        Err(error) => Err(error.context(format!(
            "the request stays; show it again with: {}",
            finish::resume_command(session.request())
        ))),
    }
}
