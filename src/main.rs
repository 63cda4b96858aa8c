//! Ichor runs Talos Linux clusters from Kubernetes objects.

fn main() {}
