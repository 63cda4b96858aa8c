//! Machine configurations and their patches.

use ichor_machineconfig::{Config, Patch, sample};

/// A patch, tried on Talos's own configurations of the oldest and the newest contract, and on itself as a
/// configuration. Both texts are the same, or the configuration follows after a zero byte.
pub fn patch(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (patch, config) = text.split_once('\0').unwrap_or((text, text));
    let Ok(patch) = Patch::parse(patch) else {
        return;
    };
    let mut bases: Vec<Config> = [("v1.9", true), ("v1.14", false)]
        .into_iter()
        .map(|(contract, control_plane)| sample(contract, control_plane).expect("a sample"))
        .collect();
    bases.extend(Config::parse(config));
    for base in bases {
        let Ok(patched) = patch.apply(&base) else {
            continue;
        };
        let again = patch.apply(&base).expect("what applied once applies again");
        assert_eq!(
            patched.to_yaml(),
            again.to_yaml(),
            "two results of one patch"
        );
        let read = Config::parse(&patched.to_yaml()).expect("what was written can be read");
        assert!(
            patched.same_meaning(&read),
            "a configuration changes when it is written"
        );
    }
}
