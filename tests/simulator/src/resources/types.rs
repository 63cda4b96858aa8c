//! Which resource types and namespaces exist, and which are sensitive.

use std::sync::LazyLock;

/// A resource type.
pub struct Type {
    /// As in requests.
    pub name: &'static str,
    /// Only os:admin reads it.
    pub sensitive: bool,
}

static TYPES: LazyLock<Vec<Type>> = LazyLock::new(|| {
    include_str!("../../data/resource-types.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some(Type {
                name: words.next()?,
                sensitive: words.nth(1) == Some("sensitive"),
            })
        })
        .collect()
});

const NAMESPACES: [&str; 19] = [
    "cluster",
    "config",
    "containers",
    "controlplane",
    "cri",
    "etcd",
    "extras",
    "files",
    "hardware",
    "k8s",
    "kubespan",
    "meta",
    "network",
    "network-config",
    "perf",
    "runtime",
    "secrets",
    "security",
    "storage",
];

/// The type of this name.
pub fn find(name: &str) -> Option<&'static Type> {
    TYPES.iter().find(|kind| kind.name == name)
}

/// Whether the namespace exists.
pub fn is_namespace(name: &str) -> bool {
    NAMESPACES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        assert!(find("MachineConfigs.config.talos.dev").is_some_and(|kind| kind.sensitive));
        assert!(find("MachineStatuses.runtime.talos.dev").is_some_and(|kind| !kind.sensitive));
        assert!(find("Foos.nope.dev").is_none());
    }
}
