//! The compiled protobuf subset of `proto/`.

#[allow(clippy::pedantic, clippy::all, missing_docs, dead_code)]
pub(crate) mod common {
    tonic::include_proto!("common");
}

#[allow(clippy::pedantic, clippy::all, missing_docs, dead_code)]
pub(crate) mod machine {
    tonic::include_proto!("machine");
}

#[allow(clippy::pedantic, clippy::all, missing_docs, dead_code)]
pub(crate) mod cosi {
    tonic::include_proto!("cosi.resource");
}

#[allow(clippy::pedantic, clippy::all, missing_docs, dead_code)]
pub(crate) mod specs {
    tonic::include_proto!("specs");
}
