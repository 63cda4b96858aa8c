//! Addresses of simulated nodes: a /24 of 127.0.0.0/8 each, so that tests that run side by side, in one
//! process or in several, never share one.

use anyhow::{Context, Result};
use rand::Rng;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

/// A /24 of loopback addresses, held until it is dropped.
#[derive(Debug)]
pub struct Subnet {
    second: u8,
    third: u8,
    _held: TcpListener,
}

impl Subnet {
    /// Takes a subnet that nobody else holds: whoever holds it listens on a port of its last address.
    pub fn claim() -> Result<Self> {
        let mut random = rand::rng();
        for _ in 0..1000 {
            // Below 16 other services of the machine may live; above, nobody does.
            let (second, third) = (random.random_range(16..=250), random.random_range(0..=255));
            let last = Ipv4Addr::new(127, second, third, 254);
            if let Ok(held) = TcpListener::bind((last, 50_001)) {
                return Ok(Self {
                    second,
                    third,
                    _held: held,
                });
            }
        }
        None.context("no free /24 of 127.0.0.0/8 found")
    }

    /// The `n`th address of the subnet.
    pub fn address(&self, n: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(127, self.second, self.third, n))
    }
}
