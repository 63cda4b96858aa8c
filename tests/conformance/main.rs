//! `make conformance`: what Ichor does where the chart installed it, on the cluster that `CONFORMANCE_KUBECONFIG` names, or
//! on the control plane of the tests where it names none (docs/development.md). Nothing of the test ground's overlay is
//! used: objects, flags and roles are the chart's.
//!
//! Each step is named before its error; what a cluster cannot show is printed as such. A test that fails leaves the
//! cluster as it is, to be looked at.

#[path = "../common/mod.rs"]
mod common;
#[path = "../admission/rules/mod.rs"]
mod rules;

mod admission;
mod cluster;
mod crds;
mod down;
mod egress;
mod pods;
mod policies;
mod reclaim;
mod release;
mod removal;
mod rotation;
mod serving;

use anyhow::{Context, Result};
use cluster::Cluster;
use release::Release;
use std::time::Instant;

/// A step of the suite: says what it shows, and how long it took.
async fn step<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let began = Instant::now();
    let shown = Box::pin(work).await;
    let shown = shown.with_context(|| format!("conformance: {what}"))?;
    println!("ok  {what} ({:.1} s)", began.elapsed().as_secs_f32());
    Ok(shown)
}

#[tokio::test(flavor = "multi_thread")]
async fn installed_from_the_chart_it_judges_reclaims_rotates_and_leaves_nothing() -> Result<()> {
    let cluster = Cluster::claim().await?;
    let mut ichor = step("install from the chart", Release::install(&cluster)).await?;
    step("TLS and caBundle", serving::trusted(&ichor)).await?;
    step("every rule", admission::every_rule(&ichor)).await?;
    step("audit annotations", admission::audited(&ichor)).await?;
    step("reclaim", reclaim::story(&ichor)).await?;
    step("upgrade the release", rotation::upgrade(&mut ichor)).await?;
    step("rotation", rotation::rotates(&ichor)).await?;
    step("the webhook gone and back", down::and_back(&mut ichor)).await?;
    step("the chart's roles suffice", async {
        admission::roles(&ichor)
    })
    .await?;
    step("uninstall", removal::removed(ichor)).await
}

/// FAULTS 4 (kubernetes#109964, cozystack#3125): a webhook that is down stops nothing but Ichor's own objects.
#[tokio::test(flavor = "multi_thread")]
async fn faults_4_a_webhook_that_is_down_stops_only_ichors_objects() -> Result<()> {
    let cluster = Cluster::claim().await?;
    let mut ichor = Release::install(&cluster).await?;
    ichor.scale(0).await?;
    step(
        "others' objects with the webhook down",
        down::others(&ichor),
    )
    .await?;
    removal::removed(ichor).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_webhook_the_policies_and_the_crds_still_hold() -> Result<()> {
    let cluster = Cluster::claim().await?;
    let mut ichor = Release::install(&cluster).await?;
    // The controller would write statuses into what follows.
    ichor.scale(0).await?;
    step("policies and CRDs alone", policies::hold(&ichor)).await?;
    removal::removed(ichor).await
}

/// FAULTS 8 (kubebuilder#3370, kubernetes#121162): the CRDs apply twice, client-side and server-side.
#[tokio::test(flavor = "multi_thread")]
async fn faults_8_the_crds_apply_twice_both_ways_and_explain_themselves() -> Result<()> {
    let cluster = Cluster::claim().await?;
    step("CRDs apply twice", crds::apply_twice(&cluster)).await
}
