//! What the integration tests share: one world a test binary, and a person who holds exactly the operator role.

use anyhow::Result;
use ichor_ground::{Kubectl, World};
use std::path::Path;

/// The binary under test.
pub fn ichor() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ichor"))
}

/// The world of this test binary.
#[allow(
    dead_code,
    reason = "each test binary uses what it needs of this module"
)]
pub async fn world() -> Result<&'static World> {
    World::shared(ichor()).await
}

/// kubectl as alice, who holds exactly the role `ichor-operator`.
#[allow(
    dead_code,
    reason = "each test binary uses what it needs of this module"
)]
pub async fn alice() -> Result<Kubectl> {
    world().await?.operator("alice").await
}
