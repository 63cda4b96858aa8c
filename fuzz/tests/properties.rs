//! The fuzz targets on random bytes and on broken copies of their seeds, in every `make test`.

#![allow(clippy::expect_used, reason = "a property fails by panicking")]

use proptest::prelude::*;
use std::path::Path;

/// A seed with some of its bytes replaced, and perhaps cut or doubled.
fn broken(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(&folder)
        .expect("the folder of seeds")
        .map(|entry| std::fs::read(entry.expect("a seed").path()).expect("a seed"))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{target} has no seed");
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let cut = prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>()));
    (prop::sample::select(seeds), changes, cut).prop_map(|(mut bytes, changes, cut)| {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some((from, to)) = cut {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            let piece = bytes[from.min(to)..from.max(to)].to_vec();
            if from < to {
                bytes.drain(from..to);
            } else {
                bytes.splice(to..to, piece);
            }
        }
        bytes
    })
}

/// Each seed of the judges under all that an API server may know and say, which random bytes seldom choose: the second byte
/// holds the operation and, in threes, the rest.
#[test]
fn every_seed_is_judged_in_every_world() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/judge");
    for entry in std::fs::read_dir(folder).expect("the folder of seeds") {
        let mut seed = std::fs::read(entry.expect("a seed").path()).expect("a seed");
        let operation = seed[1] % 3;
        for world in 0..u8::MAX / 3 {
            seed[1] = world * 3 + operation;
            ichor_fuzz::judge(&seed);
        }
    }
}

/// A target on broken seeds and on bytes of no meaning.
macro_rules! property {
    ($($target:ident),+) => { proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
        $(#[test]
        fn $target(
            near in broken(stringify!($target)),
            far in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            ichor_fuzz::$target(&near);
            ichor_fuzz::$target(&far);
        })+
    } };
}

property!(review, judge, bundle, pem, patch);
