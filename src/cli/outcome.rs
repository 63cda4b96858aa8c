//! How a command ends, in exit codes that a script can use (UX "Exit codes").

use std::process::ExitCode;

/// The end of a command. Wrong usage (2) is clap's, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// Failed or refused.
    Failed,
    /// It waits for a person.
    Waiting,
    /// It goes on and was not seen to end.
    GoingOn,
}

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Waiting => 3,
            Self::GoingOn => 4,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}
