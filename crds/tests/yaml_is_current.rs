//! The committed CRDs are the ones the types make, and stay below the size a client-side apply can carry.

use std::path::Path;

#[test]
fn committed_crds_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("yaml");
    for (file, crd) in ichor_crds::all_crds() {
        let want = serde_saphyr::to_string(&crd).expect("YAML of a CRD");
        let have = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        assert!(
            have == want,
            "crds/yaml/{file} is not what the types make: run `make generate`"
        );
    }
}

/// FAULTS 8 (kubebuilder#3370): client-side apply keeps the object in an annotation of at most 256 KiB.
#[test]
fn every_crd_stays_below_200_kb() {
    for (file, crd) in ichor_crds::all_crds() {
        let size = serde_json::to_vec(&crd).expect("JSON of a CRD").len();
        assert!(size < 200_000, "{file} has {size} bytes");
    }
}
