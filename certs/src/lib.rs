//! Certificates: the serving CA and leaf, the secrets bundle and the client certificates made from it.
