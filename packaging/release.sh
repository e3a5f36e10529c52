#!/usr/bin/env bash
# Builds a release twice, in two directories with different names, and compares: `cargo xtask release` runs this, by
# hand. It takes as long as four release builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -z "$(git status --porcelain)" ] || { echo 'release: the work tree has changes (expected none)' >&2; exit 1; }
here=$PWD
twice=$here/target/release-twice
rm -rf "$twice"
directories=("$twice/first" "$twice/another-place/second")
# Both before the builds, so that they are of one commit.
for directory in "${directories[@]}"; do git clone --quiet "$here" "$directory"; done
for directory in "${directories[@]}"; do "$directory/packaging/dist.sh"; done
diff "$twice/first/target/dist/out/SHA256SUMS" "$twice/another-place/second/target/dist/out/SHA256SUMS" &&
    echo "the same twice: $twice/first/target/dist/out"
