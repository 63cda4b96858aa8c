# A static program and nothing else, as user 65532: docker build -t ichor:v0.1.0 .
# `make image-check` builds the same program for musl and shows that it needs nothing of the image.
FROM rust:1.95.0-alpine AS build
# The toolchain of the image, not another download of rust-toolchain.toml's, which names the same.
ENV RUSTUP_TOOLCHAIN=1.95.0
RUN apk add --no-cache musl-dev
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked -p ichor && cp target/release/ichor /ichor

FROM scratch
COPY --from=build /ichor /ichor
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/ichor"]
