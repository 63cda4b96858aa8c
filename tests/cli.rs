//! The command line as a person at a terminal uses it (DESIGN section 13; record 0136, "UI API, UI, CLI"): the program
//! itself, with a kubeconfig and with what is typed on standard input, on a real API server and simulated nodes.

mod common;

use anyhow::{Context, Result, ensure};
use common::{alice, ichor, world};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
use ichor_ground::{ClusterSetup, GroundCluster, Kubectl, Request, eventually};
use ichor_simulator::NodeHandle;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

/// Runs `ichor` as the person, with `input` typed.
async fn run(person: &Kubectl, args: &[&str], input: &str) -> Result<Said> {
    person.exec(Command::new(ichor()), args, input).await
}

/// `ichor machine reclaim ADDRESS --cluster NAME` and more flags.
async fn reclaim(
    person: &Kubectl,
    node: &NodeHandle,
    cluster: &str,
    flags: &[&str],
    input: &str,
) -> Result<Said> {
    let address = node.address().to_string();
    let args = ["machine", "reclaim", &address, "--cluster", cluster];
    run(person, &[&args, flags].concat(), input).await
}

/// What was said, without the line breaks and indents that the width of a terminal asks for.
fn flat(said: &Said) -> String {
    let all = format!("{} {}", said.out, said.err);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn says(said: &Said, code: i32, words: &[&str]) -> Result<()> {
    let text = flat(said);
    let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
    ensure!(
        said.code == Some(code) && missing.is_empty(),
        "wanted exit code {code}, missing {missing:?}: {said:?}"
    );
    Ok(())
}

/// Whether the words come in this order.
fn in_order(said: &Said, words: &[&str]) -> Result<()> {
    let text = flat(said);
    let mut rest = text.as_str();
    for word in words {
        let at = rest
            .find(word)
            .with_context(|| format!("{word:?} is not (there) in {said:?}"))?;
        rest = &rest[at + word.len()..];
    }
    Ok(())
}

/// `spec.discovery.addresses` of a cluster.
async fn discovery(cluster: &GroundCluster) -> Result<Value> {
    let get = [
        "get",
        "taloscluster",
        &cluster.name,
        "-n",
        NAMESPACE,
        "-o",
        "json",
    ];
    let object: Value = serde_json::from_str(&cluster.kubectl().run(&get).await?)?;
    Ok(object["spec"]["discovery"]["addresses"].clone())
}

/// Merges `discovery` into the cluster, as another writer.
async fn set_discovery(cluster: &GroundCluster, discovery: Value) -> Result<()> {
    let patch = json!({"spec": {"discovery": discovery}}).to_string();
    let args = [
        "patch",
        "taloscluster",
        &cluster.name,
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        &patch,
    ];
    cluster.kubectl().run(&args).await.map(drop)
}

/// Record 0136: "creates the request as the user …, prints the controller's inspection, asks for the UUID, patches
/// confirmUUID, waits for Done and registers the address".
#[tokio::test]
async fn one_command_tells_the_whole_story() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| node.user_volumes = vec!["data".to_owned()],
        ..ClusterSetup::new("story")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let (address, uuid) = (orphan.address().to_string(), orphan.uuid().to_lowercase());
    eventually("the Node", async || {
        Ok(cluster
            .kubectl()
            .run(&["get", "node", "story-orphan-1"])
            .await
            .ok())
    })
    .await?;
    let said = reclaim(&alice, &orphan, "story", &[], &format!("{uuid}\n")).await?;
    says(&said, 0, &[])?;
    in_order(
        &said,
        &[
            "request machinereclaim/reclaim-",
            "created as alice",
            "inspect",
            &format!("{address} answered with the credentials of cluster story ("),
            "machine",
            &uuid,
            "serial",
            "hostname",
            "story-orphan-1, role worker, Talos v1.14.0-beta.1, cluster story",
            "node",
            "story-orphan-1 (its system UUID matches: it will be deleted)",
            "wiped",
            "STATE, EPHEMERAL",
            "kept",
            "data",
            "warning",
            &format!("ichor adopt --cluster story --add-machine {address}"),
            "Everything on STATE and EPHEMERAL will be destroyed.",
            "Type the machine's UUID to wipe it:",
            "reset sent (graceful)",
            "reboot the machine stopped answering",
            "wait in maintenance mode, same UUID, serial and MACs",
            "done",
            "story-orphan-1 deleted",
            &format!("{address} added to discovery of story"),
            "Approve it when it appears:",
            &format!("ichor machine approve {uuid} --role worker"),
        ],
    )?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    ensure!(discovery(&cluster).await? == json!([address]));
    ensure!(
        !said.out.contains('\u{1b}'),
        "colours without a terminal: {:?}",
        said.out
    );
    Ok(())
}

/// DESIGN section 11: the address is added "where no address or CIDR there covers it"; other writers' entries stay.
#[tokio::test]
async fn the_address_is_registered_where_nothing_covers_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 3,
            ..ClusterSetup::new("register")
        })
        .await?;
    set_discovery(&cluster, json!({"addresses": ["10.0.0.9"]})).await?;
    let mut known = vec![json!("10.0.0.9")];
    for short in ["orphan-1", "orphan-2"] {
        let orphan = cluster.node(short)?;
        says(
            &reclaim(&alice, &orphan, "register", &[], orphan.uuid()).await?,
            0,
            &["added to discovery of register"],
        )?;
        known.push(json!(orphan.address().to_string()));
        let now = discovery(&cluster).await?;
        let now = now.as_array().context("a list")?;
        ensure!(
            now.len() == known.len() && known.iter().all(|entry| now.contains(entry)),
            "{now:?}"
        );
    }
    let covered = cluster.node("orphan-3")?;
    let network = format!("{}/24", covered.address());
    set_discovery(&cluster, json!({"cidrs": [network]})).await?;
    let said = reclaim(&alice, &covered, "register", &[], covered.uuid()).await?;
    says(
        &said,
        0,
        &[&format!(
            "discovery of register covers {} already ({network})",
            covered.address()
        )],
    )?;
    ensure!(
        discovery(&cluster)
            .await?
            .as_array()
            .is_some_and(|list| list.len() == known.len())
    );
    Ok(())
}

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

/// Record 0136, "Quorum": `--force` asks for the cluster's name as well.
#[tokio::test]
async fn force_asks_for_the_name_of_the_cluster() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 0,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("forced")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let said = reclaim(&alice, &orphan, "forced", &[], "").await?;
    says(&said, 1, &["refused", "last control plane", "--force"])?;
    let uuid = orphan.uuid();
    let said = reclaim(
        &alice,
        &orphan,
        "forced",
        &["--force"],
        &format!("{uuid}\nprod\nforced\n"),
    )
    .await?;
    says(
        &said,
        0,
        &[
            "Type the cluster's name",
            "that is not the cluster's name",
            "done",
        ],
    )?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// `--talosconfig`: needs rights on Secrets, which the operator role does not have by design; one context is stored, and
/// it goes with the request.
#[tokio::test]
async fn a_talosconfig_is_stored_for_the_request_and_goes_with_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("lab")).await?;
    let orphan = cluster.node("orphan-1")?;
    let folder = TempDir::new()?;
    let file = folder.path().join("talosconfig");
    std::fs::write(&file, cluster.fleet.admin_talosconfig("lab")?)?;
    let (address, file) = (
        orphan.address().to_string(),
        file.to_str().context("UTF-8")?,
    );
    let args = ["machine", "reclaim", &address, "--talosconfig", file];
    says(
        &run(&alice, &args, "").await?,
        1,
        &[
            "you may not create, get, patch, delete Secrets in namespace ichor-system",
            "kubectl create secret generic NAME -n ichor-system --type=ichor.maesh.dev/talosconfig",
            "--credential-secret NAME",
        ],
    )?;

    let sally = world.operator("sally").await?;
    let admin = cluster.kubectl();
    let role = [
        "create",
        "role",
        "talosconfigs",
        "--verb=create,get,patch,delete",
        "--resource=secrets",
        "-n",
        NAMESPACE,
    ];
    admin.run(&role).await?;
    let bind = [
        "create",
        "rolebinding",
        "sally-talosconfigs",
        "--role=talosconfigs",
        "--user=sally",
        "-n",
        NAMESPACE,
    ];
    admin.run(&bind).await?;
    let wrong = [&args[..], &["--context", "prod"]].concat();
    says(
        &run(&sally, &wrong, "").await?,
        1,
        &["has no context \"prod\"; it has: lab"],
    )?;
    let right = [&args[..], &["--context", "lab", "-o", "json"]].concat();
    let said = run(&sally, &right, orphan.uuid()).await?;
    says(
        &said,
        0,
        &[
            "answered with the talosconfig in Secret reclaim-talosconfig-",
            "done",
        ],
    )?;
    ensure!(orphan.in_maintenance());

    let request: Value = serde_json::from_str(&said.out)?;
    let secret = request["spec"]["credentialSecretRef"]["name"]
        .as_str()
        .context("a Secret")?;
    let get = ["get", "secret", secret, "-n", NAMESPACE, "-o", "json"];
    let stored: Value = serde_json::from_str(&admin.run(&get).await?)?;
    ensure!(
        stored["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"],
        "it has no owner"
    );
    let name = request["metadata"]["name"].as_str().context("a name")?;
    sally
        .run(&["delete", "machinereclaim", name, "-n", NAMESPACE])
        .await?;
    eventually("the Secret to go with the request", async || {
        Ok(admin
            .try_run(&get)
            .await?
            .err
            .contains("NotFound")
            .then_some(()))
    })
    .await
}

/// A folder for PATH with the program under the names of the plugins, and kubectl.
fn plugins(person: &Kubectl) -> Result<TempDir> {
    let folder = TempDir::new()?;
    for name in ["ichor", "kubectl-ichor", "kubectl-create-machinereclaim"] {
        std::os::unix::fs::symlink(ichor(), folder.path().join(name))?;
    }
    std::os::unix::fs::symlink(person.bin().join("kubectl"), folder.path().join("kubectl"))?;
    Ok(folder)
}

/// Runs kubectl with the plugins in PATH.
async fn kubectl(person: &Kubectl, path: &TempDir, args: &[&str], input: &str) -> Result<Said> {
    let mut command = Command::new(path.path().join("kubectl"));
    let rest = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{rest}", path.path().display()));
    person.exec(command, args, input).await
}

/// Issue "Command line": `kubectl create machinereclaim` only creates, and prints what `kubectl create` prints.
#[tokio::test]
async fn kubectl_create_machinereclaim_creates_and_prints_as_kubectl_does() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("plugged")).await?;
    let orphan = cluster.node("orphan-1")?;
    let (path, address) = (plugins(&alice)?, orphan.address().to_string());
    let create = ["create", "machinereclaim", &address, "--cluster", "plugged"];
    let with = |flags: &[&'static str]| [&create[..], flags].concat();
    let count = async || -> Result<usize> {
        let names = alice
            .run(&["get", "machinereclaims", "-n", NAMESPACE, "-o", "json"])
            .await?;
        Ok(names.matches(&format!("\"{address}\"")).count())
    };

    let said = kubectl(
        &alice,
        &path,
        &with(&["--dry-run=client", "-o", "yaml"]),
        "",
    )
    .await?;
    says(
        &said,
        0,
        &[
            "kind: MachineReclaim",
            "generateName: reclaim-",
            "clusterCredentials: true",
        ],
    )?;
    let said = kubectl(&alice, &path, &with(&["--dry-run=server"]), "").await?;
    says(
        &said,
        0,
        &[
            "machinereclaim.ichor.maesh.dev/reclaim-",
            "created (server dry run)",
        ],
    )?;
    ensure!(count().await? == 0, "a dry run left something");
    let said = kubectl(&alice, &path, &with(&["-n", "default"]), "").await?;
    says(&said, 1, &["forbidden"]).or_else(|_| says(&said, 1, &["Forbidden"]))?;

    // --as without the verb, as somebody who may impersonate.
    let admin = cluster.kubectl();
    let said = kubectl(admin, &path, &with(&["--as", "dev"]), "").await?;
    ensure!(
        said.code == Some(1) && said.err.starts_with("Error from server (Forbidden): "),
        "{said:?}"
    );
    let role = [
        "create",
        "role",
        "writer",
        "--verb=create",
        "--resource=machinereclaims.ichor.maesh.dev",
        "-n",
        NAMESPACE,
    ];
    admin.run(&role).await?;
    admin
        .run(&[
            "create",
            "rolebinding",
            "dev-writer",
            "--role=writer",
            "--user=dev",
            "-n",
            NAMESPACE,
        ])
        .await?;
    let said = eventually("RBAC to let dev create", async || {
        let said = kubectl(admin, &path, &with(&["--as", "dev"]), "").await?;
        Ok(said.err.contains("verb \"reclaim\"").then_some(said))
    })
    .await?;
    ensure!(
        said.code == Some(1) && said.err.starts_with("Error from server (Forbidden): "),
        "{said:?}"
    );
    says(&said, 1, &["ichor-operator"])?;

    let said = kubectl(&alice, &path, &create, "").await?;
    let line = said.out.trim_end();
    ensure!(
        said.ok
            && line.starts_with("machinereclaim.ichor.maesh.dev/reclaim-")
            && line.ends_with(" created"),
        "{said:?}"
    );
    ensure!(count().await? == 1);
    let said = kubectl(&alice, &path, &with(&["-o", "name"]), "").await?;
    says(&said, 1, &["spec.address: Duplicate value"])?;
    ensure!(cluster.resets() == 0, "creating wipes nothing");
    Ok(())
}

/// `kubectl ichor …` is `ichor …`, and says so in its help.
#[tokio::test]
async fn kubectl_ichor_is_ichor() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("kubectl")).await?;
    let (path, orphan) = (plugins(&alice)?, cluster.node("orphan-1")?);
    let said = kubectl(&alice, &path, &["ichor", "machine", "--help"], "").await?;
    says(&said, 0, &["kubectl ichor machine", "reclaim"])?;
    let address = orphan.address().to_string();
    let args = [
        "ichor",
        "machine",
        "reclaim",
        &address,
        "--cluster",
        "kubectl",
    ];
    let said = kubectl(&alice, &path, &args, orphan.uuid()).await?;
    says(&said, 0, &["done", "added to discovery of kubectl"])?;
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// Somebody else answers while the command still asks: it follows, and does not insist.
#[tokio::test]
async fn a_request_confirmed_elsewhere_is_followed() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("elsewhere")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "elsewhere").await?;
    request.inspected().await?;
    request.confirm(orphan.uuid()).await?;
    let said = run(
        &alice,
        &["machine", "reclaim", "--request", &request.name],
        "",
    )
    .await?;
    says(&said, 0, &["done", "added to discovery of elsewhere"])
}

#[tokio::test]
async fn completion_is_printed_for_each_shell() -> Result<()> {
    let nobody = world().await?.plane.kubectl_with("/nonexistent".as_ref());
    for shell in ["bash", "zsh", "fish"] {
        let said = run(&nobody, &["completion", shell], "").await?;
        says(&said, 0, &["reclaim", "--force-ungraceful"])
            .or_else(|_| says(&said, 0, &["reclaim", "force-ungraceful"]))?;
    }
    Ok(())
}

/// Commands that the texts name and that come later (record 0136 has them as they are).
const LATER: [&str; 5] = [
    "adopt",
    "node remove",
    "machine approve",
    "cluster show",
    "talosconfig",
];

/// Every command of ours that the documentation shows is one that the program takes: each is parsed with `--help`
/// behind it, which refuses wrong flags and values and does nothing.
#[tokio::test]
async fn every_command_in_the_documentation_is_understood() -> Result<()> {
    let nobody = world().await?.plane.kubectl_with("/nonexistent".as_ref());
    let path = plugins(&nobody)?;
    let mut tried = 0;
    for command in documented()? {
        let words: Vec<&str> = command.split_whitespace().collect();
        if LATER
            .iter()
            .any(|later| command.starts_with(&format!("ichor {later}")))
        {
            continue;
        }
        let said = match words.as_slice() {
            ["ichor", args @ ..] => run(&nobody, &[args, &["--help"]].concat(), "").await?,
            ["kubectl", args @ ..] => {
                kubectl(&nobody, &path, &[args, &["--help"]].concat(), "").await?
            }
            _ => continue,
        };
        ensure!(said.ok, "`{command}`: {said:?}");
        tried += 1;
    }
    ensure!(
        tried > 10,
        "only {tried} commands were found in the documentation"
    );
    Ok(())
}

/// The commands `ichor …`, `kubectl ichor …` and `kubectl create machinereclaim …` of README.md and docs/, with words
/// in capitals replaced by values.
fn documented() -> Result<Vec<String>> {
    let root = ichor_ground::paths::workspace();
    let mut files = vec![root.join("README.md")];
    for entry in std::fs::read_dir(root.join("docs"))? {
        files.push(entry?.path());
    }
    let mut commands = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "md"))
    {
        let text = std::fs::read_to_string(file)?;
        let quoted = text.split('`').skip(1).step_by(2).map(str::trim);
        let lines = text
            .lines()
            .map(|line| line.trim().trim_start_matches("$ "));
        for line in quoted.filter(|code| !code.contains('\n')).chain(lines) {
            let line = line.rsplit(" | ").next().unwrap_or(line);
            let line = line.split(" #").next().unwrap_or(line).trim();
            let ours = ["ichor ", "kubectl ichor ", "kubectl create machinereclaim "];
            if ours.iter().any(|start| line.starts_with(start))
                && !line.contains(['…', '[', '<', '|', '`', '('])
            {
                commands.push(filled_in(line));
            }
        }
    }
    commands.sort();
    commands.dedup();
    Ok(commands)
}

fn filled_in(line: &str) -> String {
    let words =
        line.split_whitespace()
            .map(|word| match word.trim_matches(['"', ',', '.', ':', ';']) {
                "ADDRESS" => "10.5.0.7",
                "DURATION" => "30m",
                "FORMAT" => "json",
                word => word,
            });
    words.collect::<Vec<_>>().join(" ")
}
