//! FAULTS 3 (cert-controller#342, #305; gatekeeper#462) on a moved clock: the processes run with a wall clock that the
//! test moves under them (`clock.c`), and have no setting for it.

use crate::fleet::{Fleet, Replica, first, is_signed_by};
use anyhow::{Result, ensure};
use ichor_certs::keys;
use ichor_ground::eventually;
use ichor_ground::handshake::{Trusts, shake};
use std::path::PathBuf;
use std::process::Command;

const DAY: i64 = 24 * 3600;

/// CAs that live shorter than the certificates of the test's control plane, so that only they expire.
const DAYS: [(&str, &str); 5] = [
    ("--serving-ca-lifetime", "24h"),
    ("--serving-ca-renew-before", "8h"),
    ("--serving-cert-lifetime", "6h"),
    ("--serving-cert-renew-before", "2h"),
    ("--serving-propagation", "1s"),
];

/// A wall clock for processes that are told of it.
pub struct MovedClock {
    file: PathBuf,
    library: PathBuf,
}

impl MovedClock {
    /// Right at first.
    pub fn new(fleet: &Fleet) -> Result<Self> {
        let folder = fleet.plane.folder();
        let (file, library) = (folder.join("clock"), folder.join("clock.so"));
        std::fs::write(&file, 0_i64.to_le_bytes())?;
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rotation/clock.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([library.as_os_str(), source.as_ref()])
            .arg("-ldl")
            .status()?;
        ensure!(built.success(), "cc could not build {source}");
        Ok(Self { file, library })
    }

    /// What a process needs in its environment.
    pub fn environment(&self) -> Vec<(String, String)> {
        vec![
            ("LD_PRELOAD".to_owned(), self.library.display().to_string()),
            (
                "ICHOR_MOVED_CLOCK".to_owned(),
                self.file.display().to_string(),
            ),
        ]
    }

    /// Sets it to so many seconds ahead of the right time.
    pub fn set(&self, ahead: i64) -> Result<()> {
        // Written in place: the processes have mapped the file.
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.file)?;
        file.write_all(&ahead.to_le_bytes())?;
        Ok(())
    }
}

/// Waits until Secret, `caBundle` and every replica agree: each shows the stored leaf, a client whose clock is as far
/// ahead accepts it by the stored bundle, and each says that it is ready.
async fn agree(fleet: &Fleet, replicas: &[Replica], ahead: i64) -> Result<Vec<u8>> {
    eventually("Secret, leaf and caBundle to agree", async || {
        let trusts = Trusts {
            bundle: fleet.bundle().await?,
            ahead,
            ..Trusts::default()
        };
        ensure!(
            trusts.bundle == fleet.stored("ca.crt").await?,
            "the bundles differ"
        );
        let stored = first(&fleet.stored("tls.crt").await?)?;
        for replica in replicas {
            let (_, shown) = shake(replica.webhook, &trusts, "h2").await?;
            ensure!(shown == stored, "{} shows another leaf", replica.webhook);
            let (code, why) = replica.controller.get("/readyz").await?;
            ensure!(code == 200, "{why}");
        }
        Ok(Some(stored))
    })
    .await
}

/// Two replicas find their CA expired at the same moment, three times; then the clock goes on by hours, past one of
/// them that is suspended and through a whole rotation, and is set back.
#[tokio::test(flavor = "multi_thread")]
async fn faults_3_replicas_agree_after_every_jump_of_the_clock() -> Result<()> {
    let mut fleet = Fleet::start(&DAYS).await?;
    let clock = MovedClock::new(&fleet)?;
    fleet.options.env = clock.environment();
    let replicas = fleet.replicas(2).await?;
    let mut leaves = vec![agree(&fleet, &replicas, 0).await?];
    let mut authorities = vec![first(&fleet.bundle().await?)?];

    for round in 1..=3 {
        let ahead = round * (DAY + 3600);
        clock.set(ahead)?;
        eventually("a new CA", async || {
            let newest = first(&fleet.stored("ca.crt").await?)?;
            Ok((authorities.last() != Some(&newest)).then_some(()))
        })
        .await?;
        leaves.push(agree(&fleet, &replicas, ahead).await?);
        authorities.push(first(&fleet.bundle().await?)?);
        let bundle = keys::certificates(&fleet.bundle().await?);
        ensure!(
            bundle.len() == 1,
            "what expired is gone: {} CAs",
            bundle.len()
        );
    }

    // By 5 h the leaf is in its last 2 h: one of the replicas is suspended meanwhile, and sees it when it goes on.
    let ahead = 3 * (DAY + 3600) + 5 * 3600;
    replicas[0].controller.pause().await?;
    clock.set(ahead)?;
    eventually("a new leaf", async || {
        let newest = first(&fleet.stored("tls.crt").await?)?;
        Ok((leaves.last() != Some(&newest)).then_some(()))
    })
    .await?;
    replicas[0].controller.resume().await?;
    leaves.push(agree(&fleet, &replicas, ahead).await?);
    ensure!(
        first(&fleet.bundle().await?)? == authorities[3],
        "the CA is the same"
    );

    // By 17 h the CA is in its last 8 h: a second one stands beside it, and signs once it was known.
    let ahead = ahead + 12 * 3600;
    clock.set(ahead)?;
    let pair = eventually("a second CA that signs", async || {
        let all = keys::certificates(&fleet.bundle().await?);
        let signs = all.len() == 2 && is_signed_by(&fleet.stored("tls.crt").await?, &all[0])?;
        Ok(signs.then_some(all))
    })
    .await?;
    ensure!(pair[1] == authorities[3], "the old one stays");
    leaves.push(agree(&fleet, &replicas, ahead).await?);
    // By 26 h it has expired.
    let ahead = ahead + 9 * 3600;
    clock.set(ahead)?;
    eventually("the old CA to go", async || {
        Ok((keys::certificates(&fleet.bundle().await?) == pair[..1]).then_some(()))
    })
    .await?;
    leaves.push(agree(&fleet, &replicas, ahead).await?);
    authorities.push(pair[0].clone());

    // A clock that is set back to before the CA: a CA that holds now, the other one stays in the bundle.
    clock.set(0)?;
    eventually("a CA of now", async || {
        let newest = first(&fleet.stored("ca.crt").await?)?;
        Ok((newest != authorities[4]).then_some(()))
    })
    .await?;
    leaves.push(agree(&fleet, &replicas, 0).await?);
    ensure!(keys::certificates(&fleet.bundle().await?).contains(&authorities[4]));

    authorities.push(first(&fleet.bundle().await?)?);
    let all = [leaves.len(), authorities.len()];
    leaves.sort();
    leaves.dedup();
    authorities.sort();
    authorities.dedup();
    ensure!(
        all == [leaves.len(), authorities.len()],
        "each is another one"
    );
    Ok(())
}
