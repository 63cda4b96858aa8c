//! One simulated machine: its state, its API, its sequences.

mod apply;
mod boot;
mod handle;
mod listener;
mod sequence;
mod state;
pub(crate) use state::mac;
mod tls;

pub use handle::NodeHandle;
pub use sequence::ResetPlan;
pub use state::{Machine, Sequence, Stage, State};

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};

use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

use crate::calls::Ledger;
use crate::fleet::Shared;
use crate::lock;
use crate::resources::Versions;

/// A machine. Tasks hold it weakly where they can outlive the fleet.
pub struct Node {
    /// What never changes.
    pub machine: Machine,
    /// Calls and faults.
    pub ledger: Ledger,
    /// What the fleet shares.
    pub shared: Arc<Shared>,
    /// Versions of its COSI resources.
    pub versions: Mutex<Versions>,
    /// Connections counted so far.
    pub connections: AtomicU64,
    state: Mutex<State>,
    /// Ends the tasks of the present power cycle.
    power: Mutex<CancellationToken>,
    /// Ends the listener and its connections.
    api: Mutex<CancellationToken>,
    /// What new connections are served with.
    tls: Mutex<Option<Arc<ServerConfig>>>,
}

impl Node {
    pub(crate) fn new(machine: Machine, shared: Arc<Shared>) -> Arc<Self> {
        let state = State::new(&machine);
        let token = || Mutex::new(shared.root.child_token());
        Arc::new(Self {
            ledger: Ledger::default(),
            versions: Mutex::default(),
            connections: AtomicU64::new(0),
            state: Mutex::new(state),
            power: token(),
            api: token(),
            tls: Mutex::default(),
            machine,
            shared,
        })
    }

    /// Reads the state.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&lock(&self.state))
    }

    /// Changes the state.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut lock(&self.state))
    }

    /// Runs a task until it ends or the power goes.
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let power = lock(&self.power).clone();
        tokio::spawn(async move {
            tokio::select! {
                () = power.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Ends every task of this power cycle and begins the next.
    fn cut_power(&self) {
        let mut power = lock(&self.power);
        power.cancel();
        *power = self.shared.root.child_token();
    }
}

/// Nodes as the fleet's shared part sees them.
pub type WeakNode = Weak<Node>;
