//! The admission webhook: an axum HTTPS server and the judges of each resource.
