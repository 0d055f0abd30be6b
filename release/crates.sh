#!/usr/bin/env bash
# The crates for a registry: DIR/{idgate-core,idgate,idgate-ffi}-VERSION.crate.
#
#   release/crates.sh DIR VERSION [--verify]
#
# cargo omits dev-dependencies with a path and no version, and replaces the paths of the others with versions. Publish
# them in this order: idgate-core, idgate, idgate-ffi. cargo packs the files that git tracks, and refuses uncommitted
# changes. With --verify the script also builds idgate-core from its package, outside the workspace.
set -euo pipefail
usage='usage: release/crates.sh DIR VERSION [--verify]'
directory=$(mkdir -p "${1:?$usage}" && cd "$1" && pwd)
version=${2:?$usage}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "$version" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" ] || {
    echo "crates.sh: the version in Cargo.toml is not $version" >&2
    exit 1
}
target=${CARGO_TARGET_DIR:-$PWD/target}/crates
# IDGATE_ALLOW_DIRTY is for tests, which run before a commit.
cargo package --locked --no-verify --target-dir "$target" ${IDGATE_ALLOW_DIRTY:+--allow-dirty} \
    -p idgate-core -p idgate -p idgate-ffi
for name in idgate-core idgate idgate-ffi; do
    install -m 644 "$target/package/$name-$version.crate" "$directory/"
done

if [ "${3:-}" = --verify ]; then
    alone=$(mktemp -d)
    trap 'rm -rf "$alone"' EXIT
    tar -xzf "$directory/idgate-core-$version.crate" -C "$alone"
    # cargo's own verification would build all three, with C.
    (cd "$alone/idgate-core-$version" && cargo build --release --locked --target-dir "$target/verify")
fi
