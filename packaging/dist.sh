#!/usr/bin/env bash
# Builds what a release consists of, into target/dist/out: `cargo xtask dist` runs this.
#
#   ackwise-VERSION-x86_64-linux.tar.zst         for glibc 2.17 and later, with manual pages and completions
#   ackwise-VERSION-x86_64-linux-static.tar.zst  the program alone, for containers
#   ackwise_VERSION_amd64.deb                    the first one for Debian and Ubuntu
#   ackwise-VERSION-cp311-abi3-manylinux….whl    the Python package, for glibc 2.17 and Python 3.11, and later
#   ackwise-VERSION.tar.gz                       its source
#   ackwise-VERSION-symbols.tar.zst              symbols of both programs
#   ackwise-VERSION.cdx.json                     dependencies (CycloneDX)
#   SHA256SUMS
#
# --pack: build nothing, pack the programs of the last run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
target=x86_64-unknown-linux-gnu
work=$root/target/dist
out=$work/out
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
# The time in all archives: that of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0 LC_ALL=C
export PATH=$root/.venv/bin:$PATH
umask 022

# Paths of this machine are not part of the programs.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
remap="--remap-path-prefix=$root=/ackwise --remap-path-prefix=$cargo_home=/cargo"
map="-ffile-prefix-map=$root=/ackwise -ffile-prefix-map=$cargo_home=/cargo"
export CFLAGS_x86_64_unknown_linux_gnu=$map

build() {
    [ -x .venv/bin/pip ] || python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps \
        cargo-zigbuild==0.24.1 maturin==1.16.0 ziglang==0.17.1
    local options=(--profile dist --locked --package ackwise --features parquet)
    RUSTFLAGS=$remap CARGO_TARGET_DIR=$work/glibc cargo-zigbuild zigbuild "${options[@]}" --target $target.2.17
    RUSTFLAGS="$remap -C target-feature=+crt-static" CARGO_TARGET_DIR=$work/static \
        cargo build "${options[@]}" --target $target
    rm -rf "$work/wheels"
    RUSTFLAGS=$remap CARGO_TARGET_DIR=$work/glibc maturin build --zig --compatibility manylinux_2_17 --target $target \
        --profile dist --locked --strip --manifest-path crates/python/Cargo.toml --out "$work/wheels"
    maturin sdist --manifest-path crates/python/Cargo.toml --out "$work/wheels"
    rm -rf "$work/pages"
    ACKWISE_PAGES=$work/pages cargo test --quiet --locked --package ackwise --lib -- manual_pages
}

# Splits a program into itself and its symbols. They name directories of zig, so the program has no checksum of them
# (.gnu_debuglink): it would differ from machine to machine.
strip_program() {
    install -D -m 755 "$work/$1/$target/dist/ackwise" "$work/programs/$1/ackwise"
    (
        cd "$work/programs/$1"
        objcopy --only-keep-debug ackwise ackwise.debug
        strip --strip-all ackwise
    )
}

# archive NAME DIRECTORY: the directory in the archive has the archive's name.
archive() {
    tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --transform="s,^\.,$1," -cf - . | zstd --quiet -12 -T1 -o "$out/$1.tar.zst"
}

pack() {
    rm -rf "$out" "$work/programs" "$work/tree"
    mkdir -p "$out"
    strip_program glibc
    strip_program static
    local name=ackwise-$version-x86_64-linux tree=$work/tree/glibc
    mkdir -p "$tree"
    cp -r "$work/pages/man" "$work/pages/completions" LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$tree"
    install -m 755 "$work/programs/glibc/ackwise" "$tree"
    archive "$name" "$tree"
    tree=$work/tree/static
    mkdir -p "$tree"
    cp LICENSE-MIT LICENSE-APACHE packaging/Containerfile "$tree"
    install -m 755 "$work/programs/static/ackwise" "$tree"
    archive "$name-static" "$tree"
    tree=$work/tree/symbols
    for kind in glibc static; do
        install -D -m 644 "$work/programs/$kind/ackwise.debug" "$tree/$kind/ackwise.debug"
    done
    archive "ackwise-$version-symbols" "$tree"
    packaging/deb.sh "$version" "$work" "$out"
    cp "$work"/wheels/* "$out"
    cargo metadata --locked --format-version 1 --features ackwise/parquet --filter-platform $target |
        python3 packaging/sbom.py > "$out/ackwise-$version.cdx.json"
    (cd "$out" && sha256sum -- * > SHA256SUMS)
    (cd "$out" && ls -l)
}

[ "${1:-}" = --pack ] || build
pack
