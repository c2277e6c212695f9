#!/bin/sh
# Stands in for Bats where configure found none: reports the test file given as skipped, in TAP,
# which is what the driver of the Bats tests reads.
echo "1..0 # SKIP ${1##*/}: Bats was not found when gzlzss was configured (Debian's package is bats)"
