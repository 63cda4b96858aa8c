//! Asking for what has to be typed: the machine's UUID, and with force the cluster's name (record 0136: the
//! typed UUID is the consent). Nothing stands in for typing: there is no flag for it.

use super::super::screen::Screen;
use ichor_crds::{MachineReclaim, ReclaimInspection, SystemUuid};
use std::io::{BufRead as _, IsTerminal as _};
use tokio::sync::mpsc;

/// How often a person may mistype.
pub const TRIES: u32 = 3;

/// Lines of standard input, which has no asynchronous form that a process can end on.
pub struct Answers {
    lines: Option<mpsc::Receiver<std::io::Result<String>>>,
    terminal: bool,
}

impl Answers {
    /// Nothing is read before the first question: in the background of a shell, reading would stop the
    /// process.
    pub fn new() -> Self {
        Self {
            lines: None,
            terminal: std::io::stdin().is_terminal(),
        }
    }

    /// The next line, without its end; nothing when standard input is closed.
    pub async fn next(&mut self, screen: &mut Screen) -> std::io::Result<Option<String>> {
        let lines = self.lines.get_or_insert_with(read_lines);
        let line = lines.recv().await.transpose()?;
        if !self.terminal {
            // What is not typed on the terminal does not show there.
            screen.ask("\n")?;
        }
        Ok(line)
    }
}

/// A thread of its own reads: it may be stuck in a read when the command ends, and ends with the process.
fn read_lines() -> mpsc::Receiver<std::io::Result<String>> {
    let (send, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The words before the question.
pub fn preamble(request: &MachineReclaim, inspection: &ReclaimInspection) -> Vec<String> {
    let wiped = match inspection.wiped.as_slice() {
        [] => "STATE and EPHEMERAL".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    };
    let mut lines = vec![format!("Everything on {wiped} will be destroyed.")];
    if request.spec.force == Some(true) {
        lines.push(
            "With force, this is done even if etcd loses quorum or its last control plane."
                .to_owned(),
        );
    }
    if request.spec.force_ungraceful == Some(true) {
        lines.push("Ungraceful: the machine does not leave etcd first.".to_owned());
    }
    lines
}

/// Whether what was typed is the machine's UUID. The swapped byte order is another text than the one shown,
/// so it is not taken.
pub fn is_uuid(typed: &str, inspection: &ReclaimInspection) -> bool {
    let shown = &inspection.identity.uuid;
    match (
        typed.trim().parse::<SystemUuid>(),
        shown.parse::<SystemUuid>(),
    ) {
        (Ok(typed), Ok(shown)) => typed == shown,
        _ => !shown.is_empty() && typed.trim().eq_ignore_ascii_case(shown),
    }
}

/// The cluster's name that has to be typed with force: the one the assessment asks for, or else Ichor's name of
/// it, or what the machine calls it.
pub fn cluster_name<'a>(
    request: &'a MachineReclaim,
    inspection: &'a ReclaimInspection,
) -> Option<&'a str> {
    let cluster_ref = request
        .spec
        .cluster_ref
        .as_ref()
        .map(|cluster| &cluster.name);
    let needed = inspection.cluster_name_needed.as_ref();
    needed
        .or(inspection.managed_cluster.as_ref())
        .or(inspection.cluster_name.as_ref())
        .or(cluster_ref)
        .map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{LocalReference, MachineIdentity, MachineReclaimSpec};

    fn inspection() -> ReclaimInspection {
        ReclaimInspection {
            identity: MachineIdentity {
                uuid: "4c4c4544-0042-3510-8052-b4c04f463133".to_owned(),
                ..MachineIdentity::default()
            },
            wiped: vec!["STATE".to_owned(), "EPHEMERAL".to_owned()],
            ..ReclaimInspection::default()
        }
    }

    #[test]
    fn only_the_uuid_as_shown_is_consent() {
        for (typed, want) in [
            ("4c4c4544-0042-3510-8052-b4c04f463133", true),
            ("  4C4C4544-0042-3510-8052-B4C04F463133\r", true),
            ("4c4c4544-0042-3510-8052-b4c04f463134", false),
            // The other byte order of the same board.
            ("44454c4c-4200-1035-8052-b4c04f463133", false),
            ("4c4c4544", false),
            ("yes", false),
            ("", false),
        ] {
            assert_eq!(is_uuid(typed, &inspection()), want, "{typed:?}");
        }
        assert!(!is_uuid("", &ReclaimInspection::default()));
    }

    #[test]
    fn force_asks_for_the_name_of_the_machines_cluster() {
        let spec = MachineReclaimSpec {
            cluster_ref: Some(LocalReference::new("prod")),
            force: Some(true),
            ..MachineReclaimSpec::default()
        };
        let request = MachineReclaim::new("reclaim-x7k2p", spec);
        let seen = |managed: Option<&str>, named: Option<&str>| ReclaimInspection {
            managed_cluster: managed.map(str::to_owned),
            cluster_name: named.map(str::to_owned),
            ..inspection()
        };
        for (inspection, want) in [
            (seen(Some("prod"), Some("talos-prod")), Some("prod")),
            (seen(None, Some("lab")), Some("lab")),
            (seen(None, None), Some("prod")),
        ] {
            assert_eq!(cluster_name(&request, &inspection), want);
        }
        assert_eq!(
            preamble(&request, &inspection()),
            [
                "Everything on STATE and EPHEMERAL will be destroyed.",
                "With force, this is done even if etcd loses quorum or its last control plane.",
            ]
        );
    }
}
