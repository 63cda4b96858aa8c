//! The Talos API client: mutual TLS dialling, the maintenance client and error classes.
