//! The comparison notices what is corrupted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::compare::{Answer, differences};
use crate::record::{Call, Line, read};

/// The recorded answer itself, as an answer.
fn echo(call: &Call) -> Answer {
    Answer {
        code: call.code.clone(),
        message: call.message.clone(),
        response: call.response.clone(),
        deadline: call.deadline_hit,
    }
}

fn recorded() -> Vec<Call> {
    let lines = read("03-cluster-healthy.jsonl");
    lines
        .into_iter()
        .filter_map(|line| {
            if let Line::Call(call) = line {
                Some(*call)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn a_recording_equals_itself() {
    for call in recorded() {
        assert_eq!(
            differences(&call, &echo(&call)),
            Vec::<String>::new(),
            "n {}",
            call.n
        );
    }
}

#[test]
fn a_corrupted_recording_is_noticed() {
    type Corruption = (&'static str, fn(&Call) -> bool, fn(&mut Call));
    let corruptions: [Corruption; 7] = [
        (
            "code",
            |call| call.code == "OK" && !call.deadline_hit,
            |call| call.code = "Unknown".to_owned(),
        ),
        (
            "message",
            |call| call.denied(),
            |call| call.message.push('!'),
        ),
        (
            "deadline",
            |call| call.deadline_hit,
            |call| call.deadline_hit = false,
        ),
        (
            "text",
            |call| call.method == "Hostname" && call.code == "OK",
            |call| {
                call.response.as_mut().unwrap()["messages"][0]["hostname"] = Value::from("other");
            },
        ),
        (
            "field",
            |call| call.method == "EtcdStatus" && call.code == "OK",
            |call| {
                let status = &mut call.response.as_mut().unwrap()["messages"][0]["member_status"];
                status.as_object_mut().unwrap().remove("leader");
            },
        ),
        (
            "yaml",
            |call| {
                call.method == "Get"
                    && call.resource().starts_with("MachineStatuses")
                    && call.code == "OK"
            },
            |call| {
                call.response.as_mut().unwrap()["resource"]["spec"]["yaml_spec"] =
                    Value::from("stage: installing\n");
            },
        ),
        (
            "field number",
            |call| {
                call.method == "Get" && call.resource().starts_with("BootIDs") && call.code == "OK"
            },
            |call| {
                let boot_id_under_another_number = STANDARD.encode([0x12, 1, b'x']);
                call.response.as_mut().unwrap()["resource"]["spec"]["proto_spec"] =
                    Value::from(boot_id_under_another_number);
            },
        ),
    ];
    let calls = recorded();
    for (what, wanted, corrupt) in corruptions {
        let call = calls.iter().find(|call| wanted(call)).unwrap();
        let mut corrupted = call.clone();
        corrupt(&mut corrupted);
        assert_ne!(
            differences(&corrupted, &echo(call)),
            Vec::<String>::new(),
            "{what}: not noticed"
        );
    }
}
