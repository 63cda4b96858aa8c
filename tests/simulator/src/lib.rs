//! Simulated Talos nodes, held to how real ones behave.
