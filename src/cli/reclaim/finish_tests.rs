use super::*;
use ichor_crds::{MachineReclaimSpec, MachineReclaimStatus, ResetRecord};

fn request(namespace: &str) -> MachineReclaim {
    let spec = MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        ..MachineReclaimSpec::default()
    };
    let mut request = MachineReclaim::new("reclaim-x7k2p", spec);
    request.metadata.namespace = Some(namespace.to_owned());
    request
}

fn text(lines: &[Line]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| line.render(false)).collect();
    lines.join("\n")
}

#[test]
fn leaving_says_what_goes_on_and_how_to_follow() {
    let unconfirmed = request("ichor-system");
    let mut confirmed = unconfirmed.clone();
    confirmed.spec.confirm_uuid = Some("4c4c4544-0042-3510-8052-b4c04f463133".to_owned());
    let mut sent = confirmed.clone();
    sent.status = Some(MachineReclaimStatus {
        reset: Some(ResetRecord::default()),
        ..MachineReclaimStatus::default()
    });
    let mut forced = request("other");
    forced.spec.force = Some(true);
    let parts = [
        text(&goes_on(&unconfirmed, "Timed out")),
        text(&goes_on(&confirmed, "Interrupted")),
        text(&goes_on(&sent, "Interrupted")),
        text(&waits_for_a_person(&unconfirmed, "Standard input ended")),
        text(&waits_for_a_person(&forced, "Mistyped three times")),
        text(&gone(&unconfirmed)),
        text(&gone(&sent)),
        text(&not_registered(
            "Kubernetes node worker-7 deleted",
            "10.5.0.7",
            "prod",
            "ichor-system",
            "Error from server (Forbidden): no",
        )),
    ];
    insta::assert_snapshot!(parts.join("\n\n"));
}
