//! One run of the command with one request: follow it, ask when it asks, until it ends or this command does.

use super::super::errors;
use super::super::outcome::Outcome;
use super::super::screen::{Label, Line, Screen};
use super::ask::{self, Answers, TRIES};
use super::begin::Begun;
use super::finish;
use super::follow::{Follower, News};
use super::story::{self, Next, Story};
use crate::actions::reclaim::{Consent, confirm_reclaim};
use ichor_crds::{MachineReclaim, ReclaimInspection, ReclaimPhase};
use kube::Client;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// The session.
pub struct Session {
    client: Client,
    request: MachineReclaim,
    story: Story,
    screen: Screen,
    answers: Answers,
    follower: Follower,
    interrupts: Interrupts,
    began: Option<Instant>,
    deadline: Instant,
}

/// What waiting came to.
enum Waited {
    /// The request changed; it is in the session.
    Changed,
    /// The command ends here.
    Ended(Outcome),
}

/// What asking came to.
enum Asked {
    /// The right text was typed.
    Typed(String),
    /// The request went on without this answer.
    Overtaken,
    /// Nobody answers any more.
    Ended(Outcome),
}

impl Session {
    /// A session for a request.
    pub fn new(
        client: Client,
        begun: Begun,
        screen: Screen,
        timeout: Duration,
    ) -> std::io::Result<Self> {
        let now = Instant::now();
        Ok(Self {
            follower: Follower::new(&client, &begun.request),
            interrupts: Interrupts::new()?,
            client,
            request: begun.request,
            story: Story::default(),
            screen,
            answers: Answers::new(),
            began: begun.created.then_some(now),
            deadline: now + timeout,
        })
    }

    /// The request as it was seen last.
    pub fn request(&self) -> &MachineReclaim {
        &self.request
    }

    /// Leaves the terminal as it was found.
    pub fn rest(&mut self) {
        self.screen.rest();
    }

    /// Follows the request to its end, or to where this command can do no more.
    pub async fn run(&mut self) -> anyhow::Result<Outcome> {
        loop {
            let answered_in = self.began.map(|began| began.elapsed());
            let lines = self.story.tell(&self.request, answered_in);
            self.screen.say(&lines)?;
            let ended = match story::next(&self.request) {
                Next::End(ReclaimPhase::Done) => {
                    return finish::done(&self.client, &self.request, &mut self.screen).await;
                }
                Next::End(phase) => {
                    self.screen.say(&story::ending(&self.request, phase))?;
                    return Ok(Outcome::Failed);
                }
                Next::Ask => self.consent().await?,
                Next::Wait => match self.wait().await? {
                    Waited::Changed => None,
                    Waited::Ended(outcome) => Some(outcome),
                },
            };
            if let Some(outcome) = ended {
                return Ok(outcome);
            }
        }
    }

    /// Waits for news. Ctrl-C and the timeout end this command and not the reclaim.
    async fn wait(&mut self) -> anyhow::Result<Waited> {
        let phase = self.request.status.as_ref().map(|status| status.phase);
        self.screen.wait(waiting_for(phase.unwrap_or_default()));
        let news = tokio::select! {
            news = self.follower.next() => news?,
            () = self.interrupts.next() => return self.leave("Interrupted"),
            () = tokio::time::sleep_until(self.deadline) => return self.leave("Timed out"),
        };
        Ok(match news {
            News::Changed(request) => {
                self.request = *request;
                Waited::Changed
            }
            News::Gone => {
                self.screen.say(&finish::gone(&self.request))?;
                Waited::Ended(Outcome::Failed)
            }
            News::Unreachable(error) => {
                let cause = errors::render(&error.into());
                let text = format!("the API server cannot be reached ({cause}); still trying");
                self.screen.say(&[Line::step(Label::Wait, text)])?;
                Waited::Changed
            }
        })
    }

    fn leave(&mut self, why: &str) -> anyhow::Result<Waited> {
        self.screen.say(&finish::goes_on(&self.request, why))?;
        Ok(Waited::Ended(Outcome::GoingOn))
    }

    /// Asks for what has to be typed and writes it into the request.
    async fn consent(&mut self) -> anyhow::Result<Option<Outcome>> {
        let began = Instant::now();
        let ended = self.ask_and_confirm().await;
        // A person may take their time: it is not Ichor's.
        self.deadline += began.elapsed();
        ended
    }

    async fn ask_and_confirm(&mut self) -> anyhow::Result<Option<Outcome>> {
        let Some(inspection) = self
            .request
            .status
            .clone()
            .and_then(|status| status.inspection)
        else {
            return Ok(None);
        };
        if let Some(text) = story::objection(&self.request) {
            self.screen.say(&[Line::step(Label::Waiting, text)])?;
        }
        let preamble = ask::preamble(&self.request, &inspection);
        let preamble: Vec<_> = preamble.into_iter().map(Line::Plain).collect();
        self.screen.say(&preamble)?;
        let question = "Type the machine's UUID to wipe it: ";
        let wrong = format!(
            "that is not the machine's UUID, which is {}; nothing was wiped",
            inspection.identity.uuid
        );
        let uuid = match self
            .ask(question, &wrong, |typed| ask::is_uuid(typed, &inspection))
            .await?
        {
            Asked::Typed(_) => inspection.identity.uuid.clone(),
            Asked::Overtaken => return Ok(None),
            Asked::Ended(outcome) => return Ok(Some(outcome)),
        };
        let cluster_name = match self.ask_cluster_name(&inspection).await? {
            None => None,
            Some(Asked::Typed(name)) => Some(name),
            Some(Asked::Overtaken) => return Ok(None),
            Some(Asked::Ended(outcome)) => return Ok(Some(outcome)),
        };
        let consent = Consent { uuid, cluster_name };
        self.request = confirm_reclaim(&self.client, &self.request, &consent).await?;
        self.follower.note(&self.request);
        Ok(None)
    }

    /// With force, the name of the cluster that may lose its quorum has to be typed, too.
    async fn ask_cluster_name(
        &mut self,
        inspection: &ReclaimInspection,
    ) -> anyhow::Result<Option<Asked>> {
        if self.request.spec.force != Some(true) {
            return Ok(None);
        }
        let name = ask::cluster_name(&self.request, inspection).map(str::to_owned);
        let Some(name) = name else {
            return Ok(None);
        };
        let wrong = format!("that is not the cluster's name, which is {name}; nothing was wiped");
        let question = "Type the cluster's name to force it: ";
        let asked = self
            .ask(question, &wrong, |typed| typed.trim() == name)
            .await?;
        Ok(Some(match asked {
            Asked::Typed(typed) => Asked::Typed(typed.trim().to_owned()),
            other => other,
        }))
    }

    /// Asks one question, again after a wrong answer, while the request is still followed: somebody else
    /// may answer it.
    async fn ask(
        &mut self,
        question: &str,
        wrong: &str,
        right: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Asked> {
        for _ in 0..TRIES {
            self.screen.ask(question)?;
            let line = loop {
                tokio::select! {
                    line = self.answers.next(&mut self.screen) => break line?,
                    news = self.follower.next() => match news? {
                        News::Changed(request) => {
                            self.request = *request;
                            if story::next(&self.request) != Next::Ask {
                                self.screen.ask("\n")?;
                                return Ok(Asked::Overtaken);
                            }
                        }
                        News::Gone => {
                            self.screen.ask("\n")?;
                            self.screen.say(&finish::gone(&self.request))?;
                            return Ok(Asked::Ended(Outcome::Failed));
                        }
                        News::Unreachable(_) => {}
                    },
                    () = self.interrupts.next() => {
                        self.screen.ask("\n")?;
                        return self.unanswered("Interrupted");
                    }
                }
            };
            let Some(line) = line else {
                return self.unanswered("Standard input ended");
            };
            if right(&line) {
                return Ok(Asked::Typed(line));
            }
            self.screen.say(&[Line::step(Label::Waiting, wrong)])?;
        }
        self.unanswered("Mistyped three times")
    }

    fn unanswered(&mut self, why: &str) -> anyhow::Result<Asked> {
        self.screen
            .say(&finish::waits_for_a_person(&self.request, why))?;
        Ok(Asked::Ended(Outcome::Waiting))
    }
}

/// What the spinner says.
fn waiting_for(phase: ReclaimPhase) -> &'static str {
    match phase {
        ReclaimPhase::Pending | ReclaimPhase::Inspecting => "waiting for the inspection",
        ReclaimPhase::AwaitingConfirmation => "waiting for Ichor to take up the confirmation",
        ReclaimPhase::Resetting => "wiping",
        _ => "waiting for the machine to come back in maintenance mode",
    }
}

/// Ctrl-C, or what a service manager sends. One listener for the whole session: a signal that comes while
/// nobody listens would be lost.
struct Interrupts {
    pressed: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            pressed: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.pressed.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
