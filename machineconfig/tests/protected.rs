//! What no patch may change, in every form (DESIGN section 4, FAULTS 10: omni 1.10 notes).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints take helpers of tests for the product"
)]

use ichor_machineconfig::{Config, Patch, protected_changes, sample};

fn changed(base: &Config, patch: &str) -> Vec<String> {
    let changes = Patch::parse(patch).and_then(|it| it.try_on(base));
    changes.unwrap_or_else(|fault| panic!("{patch}: {fault}"))
}

const BYTES: &str = "b3RoZXI=";

#[test]
fn the_main_document_keeps_its_secrets() {
    let base = sample("v1.11", true).unwrap();
    let pair = format!("{{crt: {BYTES}, key: {BYTES}}}");
    for (patch, want) in [
        (format!("machine: {{ca: {pair}}}"), "machine.ca"),
        (format!("machine: {{ca: {{key: {BYTES}}}}}"), "machine.ca"),
        ("machine: {ca: {$patch: delete}}".to_owned(), "machine.ca"),
        (format!("machine: {{acceptedCAs: [{{crt: {BYTES}}}]}}"), "machine.acceptedCAs"),
        ("machine: {token: other}".to_owned(), "machine.token"),
        ("machine: {features: {rbac: false}}".to_owned(), "machine.features.rbac"),
        ("machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: [os:admin]}}}".to_owned(), "machine.features.kubernetesTalosAPIAccess"),
        ("cluster: {id: other}".to_owned(), "cluster.id"),
        ("cluster: {secret: other}".to_owned(), "cluster.secret"),
        ("cluster: {token: other}".to_owned(), "cluster.token"),
        ("cluster: {aescbcEncryptionSecret: other}".to_owned(), "cluster.aescbcEncryptionSecret"),
        ("cluster: {secretboxEncryptionSecret: other}".to_owned(), "cluster.secretboxEncryptionSecret"),
        (format!("cluster: {{ca: {pair}}}"), "cluster.ca"),
        (format!("cluster: {{acceptedCAs: [{{crt: {BYTES}}}]}}"), "cluster.acceptedCAs"),
        (format!("cluster: {{aggregatorCA: {pair}}}"), "cluster.aggregatorCA"),
        (format!("cluster: {{serviceAccount: {{key: {BYTES}}}}}"), "cluster.serviceAccount"),
        (format!("cluster: {{etcd: {{ca: {pair}}}}}"), "cluster.etcd.ca"),
        ("cluster: {apiServer: {extraArgs: {client-ca-file: /x}}}".to_owned(), "cluster.apiServer.extraArgs.client-ca-file"),
        ("cluster: {controllerManager: {extraArgs: {root-ca-file: /x}}}".to_owned(), "cluster.controllerManager.extraArgs.root-ca-file"),
        (format!("- {{op: replace, path: /cluster/ca/key, value: {BYTES}}}"), "cluster.ca"),
        ("- {op: remove, path: /machine/token}".to_owned(), "machine.token"),
        ("- {op: move, from: /cluster/secret, path: /cluster/id}".to_owned(), "cluster.id"),
    ] {
        let found = changed(&base, &patch);
        assert!(found.iter().any(|it| it == want), "{patch}: {found:?}");
        assert!(!found.concat().contains("other"), "{found:?}");
    }
}

#[test]
fn whole_sections_do_not_go_with_their_secrets() {
    let base = sample("v1.11", true).unwrap();
    let found = changed(&base, "machine: {$patch: delete}");
    for want in ["machine.ca", "machine.token", "machine.features.rbac"] {
        assert!(found.iter().any(|it| it == want), "{want}: {found:?}");
    }
}

#[test]
fn the_newer_documents_keep_theirs() {
    let base = sample("v1.14", true).unwrap();
    for (kind, fields) in [
        ("DiscoveryIdentityConfig", "clusterID: other"),
        ("DiscoveryIdentityConfig", "clusterSecret: other"),
        ("DiscoveryIdentityConfig", "$patch: delete"),
        ("KubeAPIServerCAConfig", "acceptedCAs: [other]"),
        ("KubeAPIServerCAConfig", "issuingCA: {key: other}"),
        ("KubeAPIServerCAConfig", "issuingCA: {$patch: delete}"),
        ("KubeAggregatorCAConfig", "issuingCA: {cert: other}"),
        ("KubeAggregatorCAConfig", "$patch: delete"),
        ("KubeEtcdEncryptionConfig", "config: {resources: [other]}"),
        ("KubeServiceAccountConfig", "issuer: {privateKey: other}"),
        (
            "KubeServiceAccountConfig",
            "accepted: {publicKeys: [other]}",
        ),
        ("KubeTalosAPIAccessConfig", "allowedRoles: [os:admin]"),
    ] {
        let patch = format!("apiVersion: v1alpha1\nkind: {kind}\n{fields}\n");
        assert_eq!(changed(&base, &patch), [kind], "{patch}");
    }
    let patch = "apiVersion: v1alpha1\nkind: KubeAPIServerConfig\nextraArgs: {service-account-key-file: /x}\n";
    let want = "KubeAPIServerConfig: extraArgs.service-account-key-file";
    assert_eq!(changed(&base, patch), [want]);
}

/// A document of a newer kind says the same to an older configuration.
#[test]
fn newer_documents_change_older_configurations_too() {
    let base = sample("v1.12", true).unwrap();
    let patch =
        "apiVersion: v1alpha1\nkind: KubeServiceAccountConfig\nissuer: {privateKey: other}\n";
    assert_eq!(changed(&base, patch), ["KubeServiceAccountConfig"]);
}

#[test]
fn everything_else_may_change() {
    for (contract, patch) in [
        (
            "v1.11",
            "machine: {certSANs: [a], sysctls: {a: b}, features: {kubePrism: {enabled: false}}}",
        ),
        (
            "v1.11",
            "cluster: {apiServer: {extraArgs: {v: \"5\"}, certSANs: [a]}, etcd: {extraArgs: {a: b}}}",
        ),
        (
            "v1.14",
            "apiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: {v: \"5\"}\n",
        ),
        (
            "v1.14",
            "apiVersion: v1alpha1\nkind: TrustedRootsConfig\nname: a\ncertificates: x\n",
        ),
    ] {
        assert!(
            changed(&sample(contract, true).unwrap(), patch).is_empty(),
            "{patch}"
        );
    }
}

/// DESIGN section 7: documents of kinds that are not known go through untouched, and cannot be patched.
#[test]
fn unknown_kinds_are_carried() {
    let text = "machine: {type: worker}\n---\napiVersion: v9\nkind: FromTomorrowConfig\nname: a\nfields: [1, {x: yes}]\n";
    let base = Config::parse(text).unwrap();
    let patch = Patch::parse("machine: {token: a}").unwrap();
    let patched = Config::parse(&patch.apply(&base).unwrap().to_yaml()).unwrap();
    assert_eq!(patched.documents()[1], base.documents()[1]);
    let document = &base.documents()[1];
    assert_eq!(
        (document.kind(), document.name()),
        ("FromTomorrowConfig", Some("a"))
    );
    assert_eq!(document.value()["fields"][1]["x"], "yes");
    let error = Patch::parse("apiVersion: v9\nkind: FromTomorrowConfig\nname: a\n").err();
    assert!(error.unwrap().to_string().contains("FromTomorrowConfig"));
}

/// What the sample happens to have is no less a change to a cluster, and none to the one that has it.
#[test]
fn the_values_of_the_sample_are_no_way_around() {
    let base = sample("v1.11", true).unwrap();
    let text = "cluster: {secret: placeholder}";
    assert_eq!(changed(&base, text), ["cluster.secret"]);
    let patched = Patch::parse(text).unwrap().apply(&base).unwrap();
    assert!(protected_changes(&base, &patched).is_empty());
}
