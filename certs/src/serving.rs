//! The serving CA and leaf.
