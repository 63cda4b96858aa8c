#!/bin/sh
# Builds a Go program of this repository once: build-go.sh SOURCES NAME
#
# The binary lands in target/NAME/HASH/NAME, where HASH covers the sources, go.sum and the Go release, so it is reused
# until one of them changes. target/NAME/current links to the newest. Prints the binary's path, and only that, on stdout.
set -eu

sources=$(cd "$1" && pwd)
name=$2
root=$(cd "$(dirname "$0")/../.." && pwd)

if ! command -v go >/dev/null 2>&1; then
	echo "$name: Go is needed to build $sources, and there is no \"go\" on PATH: install Go $(sed -n 's/^go //p' "$sources/go.mod") or newer" >&2
	exit 1
fi

# File names go into the hash as well as contents; tests do not, they are not in the binary.
hash=$(cd "$sources" && {
	go env GOVERSION GOOS GOARCH
	find . -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum -o -name '*.json' | LC_ALL=C sort | xargs sha256sum
} | sha256sum | cut -c1-16)

folder=$root/target/$name
binary=$folder/$hash/$name
mkdir -p "$folder"

# One build at a time per program: a second caller waits and then finds the binary, instead of compiling it again.
exec 9>"$folder/lock"
if command -v flock >/dev/null 2>&1; then
	flock 9
fi

if [ ! -x "$binary" ]; then
	echo "$name: building (a few minutes the first time, seconds from the build cache)" >&2
	# Built aside and renamed, so that a killed build never leaves half a binary in the place of a whole one.
	mkdir -p "$folder/$hash"
	(cd "$sources" && CGO_ENABLED=0 go build -trimpath -ldflags=-s -o "$binary.$$" .) >&2
	mv -f "$binary.$$" "$binary"
fi

ln -sfn "$hash" "$folder/current.$$"
mv -fT "$folder/current.$$" "$folder/current"

echo "$binary"
