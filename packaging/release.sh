#!/usr/bin/env bash
# Builds a release twice, in two directories with different names, and compares: `cargo xtask release` runs this, by
# hand. It takes as long as four release builds. Symbols are not compared: they name the directory of zig's own files.
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
sums() { grep -v -e '-symbols\.tar\.zst$' "$1/target/dist/out/SHA256SUMS"; }
diff <(sums "${directories[0]}") <(sums "${directories[1]}") &&
    echo "the same twice, but for symbols: $twice/first/target/dist/out"
