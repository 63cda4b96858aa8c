#!/bin/sh
# Builds the oracle and prints its path; see build-go.sh.
here=$(dirname "$0")
exec "$here/build-go.sh" "$here" oracle
