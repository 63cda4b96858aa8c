#!/bin/sh
# Builds the peer webhook and prints its path; see build-go.sh.
here=$(dirname "$0")
exec "$here/../../tests/oracle/build-go.sh" "$here" peer
