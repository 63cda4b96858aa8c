//! The ways a command ends, by exit code (UX "Exit codes").

use crate::common::{alice, world};
use crate::terminal::{flat, reclaim, run, says};
use anyhow::{Context, Result, ensure};
use ichor_ground::ClusterSetup;
use serde_json::Value;

/// UX "Refused": who, why, and the command that does work; exit code 1. A refusal of admission reads as kubectl's.
#[tokio::test]
async fn refusals_end_with_code_1_and_what_does_work() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            workers: 1,
            ..ClusterSetup::new("refusing")
        })
        .await?;
    let worker = cluster.node("worker-1")?;
    let said = reclaim(&alice, &worker, "refusing", &[], "").await?;
    let words = [
        &format!(
            "refused {} is the approved machine {} (refusing-worker-1) of cluster refusing.",
            worker.address(),
            worker.uuid()
        ),
        "Use Remove node: ichor node remove refusing-worker-1",
    ]
    .map(ToString::to_string);
    says(&said, 1, &words.each_ref().map(String::as_str))?;
    ensure!(!flat(&said).contains("adopt"), "{said:?}");

    let orphan = cluster.node("orphan-1")?;
    let said = reclaim(&alice, &orphan, "refsing", &[], "").await?;
    says(
        &said,
        1,
        &[
            "is invalid: spec.clusterRef.name: Not found: \"refsing\"",
            "refusing",
        ],
    )?;
    let stranger = world.plane.person("stranger", &[])?;
    let said = reclaim(&stranger, &orphan, "refusing", &[], "").await?;
    says(&said, 1, &["Error from server (Forbidden):", "stranger"])?;
    ensure!(cluster.resets() == 0);
    Ok(())
}

/// Exit code 2 before anything is sent.
#[tokio::test]
async fn wrong_usage_ends_with_code_2() -> Result<()> {
    // No kubeconfig is read before the usage is right: this one does not exist.
    let nobody = world().await?.plane.kubectl_with("/nonexistent".as_ref());
    for line in [
        "machine reclaim",
        "machine reclaim 127.0.0.1",
        "machine reclaim worker-7 --cluster prod",
        "machine reclaim 10.5.0.7:50000 --cluster prod",
        "machine reclaim 10.5.0.7 --cluster prod --yes",
        "machine reclaim 10.5.0.7 --cluster prod --timeout soon",
        "machine reclaim 10.5.0.7 --request x",
        "machine wipe 10.5.0.7",
        "completion tcsh-ish",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let said = run(&nobody, &args, "").await?;
        says(&said, 2, &["error:"])?;
        ensure!(
            said.err.contains("Usage:") || said.err.contains("--help"),
            "{line}: {said:?}"
        );
    }
    Ok(())
}

/// UX "Exit codes": 3 where a person is missing, with how to go on; `--request` goes on, also as somebody else's
/// terminal would.
#[tokio::test]
async fn without_an_answer_it_ends_with_code_3_and_can_be_taken_up_again() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("later")).await?;
    let orphan = cluster.node("orphan-1")?;
    let said = reclaim(&alice, &orphan, "later", &["-o", "name"], "").await?;
    let object = said.out.trim().to_owned();
    let name = object
        .strip_prefix("machinereclaim.ichor.maesh.dev/")
        .context("a name")?;
    says(
        &said,
        3,
        &[
            "nothing was wiped",
            &format!("ichor machine reclaim --request {name}"),
            &format!("kubectl patch machinereclaim {name} -n ichor-system --type merge"),
            &format!("kubectl delete machinereclaim {name} -n ichor-system"),
        ],
    )?;
    ensure!(cluster.resets() == 0);
    let said = run(
        &alice,
        &["machine", "reclaim", "--request", name],
        orphan.uuid(),
    )
    .await?;
    says(
        &said,
        0,
        &["created by alice", "done", "added to discovery of later"],
    )?;
    ensure!(cluster.resets() == 1);
    // A request that ended is told from its object: the same story, nothing asked, nothing sent.
    let said = run(
        &alice,
        &["machine", "reclaim", "--request", name, "-o", "yaml"],
        "",
    )
    .await?;
    says(&said, 0, &["reset sent (graceful)", "phase: Done"])?;
    ensure!(
        said.err.contains("done") && said.out.contains("kind: MachineReclaim"),
        "{said:?}"
    );
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// Exit code 4: this command ends, the reclaim goes on, and it says how to follow.
#[tokio::test]
async fn a_timeout_ends_with_code_4_while_the_reclaim_goes_on() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("slow")).await?;
    let orphan = cluster.node("orphan-1")?;
    orphan.power_off();
    let said = reclaim(&alice, &orphan, "slow", &["--timeout", "3s"], "").await?;
    says(
        &said,
        4,
        &[
            "Timed out",
            "nothing is wiped before somebody types the UUID",
            "ichor machine reclaim --request reclaim-",
            "port 50000",
        ],
    )
}

/// A wrong UUID is asked again, three times at most; nothing is written for it.
#[tokio::test]
async fn a_wrong_uuid_is_asked_again() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 2,
            ..ClusterSetup::new("again")
        })
        .await?;
    let (first, second) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let said = reclaim(
        &alice,
        &first,
        "again",
        &[],
        "yes\n\n4c4c4544-0042-3510-8052-b4c04f463133\n",
    )
    .await?;
    says(
        &said,
        3,
        &["that is not the machine's UUID", "Mistyped three times"],
    )?;
    ensure!(cluster.resets() == 0);
    let typed = format!("yes\n{}\n", second.uuid().to_uppercase());
    let said = reclaim(&alice, &second, "again", &["-o", "json"], &typed).await?;
    says(&said, 0, &["that is not the machine's UUID"])?;
    let object: Value =
        serde_json::from_str(&said.out).context("only the object on standard output")?;
    ensure!(
        object["status"]["phase"] == "Done"
            && object["spec"]["confirmUUID"] == second.uuid().to_lowercase(),
        "{object}"
    );
    ensure!(
        object["spec"]["clusterCredentials"] == true
            && object["spec"]["clusterRef"]["name"] == "again",
        "{object}"
    );
    ensure!(object["metadata"].get("managedFields").is_none() && cluster.resets() == 1);
    Ok(())
}
