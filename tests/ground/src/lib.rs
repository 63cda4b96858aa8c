//! The test ground: control plane, simulated nodes and the controller as processes.
