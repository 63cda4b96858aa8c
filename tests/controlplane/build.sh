#!/bin/sh
# Builds Kubernetes' and etcd's programs into one binary in target/controlplane/KEY, once per state of go.mod, go.sum and
# the sources here, and points target/controlplane/current at it. Two builds at the same moment do not disturb each other.
set -eu
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/../.." && pwd)/target/controlplane
cd "$here"

key=$(find . -name '*.go' ! -name '*_test.go' ! -path './planetest/*' -o -name go.mod -o -name go.sum -o -name build.sh | LC_ALL=C sort |
	xargs sha256sum | sha256sum | cut -c1-16)
out=$target/$key
mkdir -p "$target"

point() { # atomically
	ln -s "$key" "$target/.current.$$"
	mv -fT "$target/.current.$$" "$target/current"
}

if [ -x "$out/controlplane" ]; then
	[ "$(readlink "$target/current" 2>/dev/null)" = "$key" ] || point
	exit 0
fi

command -v go >/dev/null || {
	echo "tests/controlplane: go is missing: install Go $(sed -n 's/^go //p' go.mod) or newer" >&2
	exit 1
}

# The second of two builds waits for the first and finds its result; without flock both build and the first one stays.
if [ -z "${CONTROLPLANE_LOCKED:-}" ] && command -v flock >/dev/null; then
	CONTROLPLANE_LOCKED=1 exec flock "$target/.lock" "$here/build.sh"
fi

new=$(mktemp -d "$target/.build.XXXXXX")
trap 'rm -rf "$new"' EXIT INT TERM
version=$(sed -n 's/.*k8s.io\/kubernetes \(v[0-9.]*\)$/\1/p' go.mod)
echo "tests/controlplane: building Kubernetes $version and etcd, once; this takes minutes" >&2
ldflags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do # the servers' and the clients' own version
	ldflags="$ldflags -X $package.gitVersion=$version -X $package.gitCommit=$version -X $package.gitTreeState=clean"
	ldflags="$ldflags -X $package.gitMajor=1 -X $package.gitMinor=$(echo "$version" | cut -d. -f2)"
done
CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -tags kubernetes -trimpath -ldflags "$ldflags" -o "$new/controlplane" .
for name in kube-apiserver kube-controller-manager etcd kubectl; do
	ln -s controlplane "$new/$name"
done
chmod 755 "$new"
mv -T "$new" "$out" 2>/dev/null || [ -x "$out/controlplane" ]
point
