#!/usr/bin/env bash
# The libraries of the C ABI for programs on glibc 2.28 and later (RHEL 8, Debian 10, Ubuntu 20.04), shared and static.
#
#   release/libraries.sh DIR VERSION [TARGET…]
#
# It writes DIR/build/TARGET/libidgate_ffi.{so,a} without debug symbols. The same commit gives the same bytes in any folder.
set -euo pipefail
usage='usage: release/libraries.sh DIR VERSION [TARGET…]'
directory=$(mkdir -p "${1:?$usage}" && cd "$1" && pwd)
: "${2:?$usage}"
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- {x86_64,aarch64}-unknown-linux-gnu
. release/tools.sh

# The folder and sources of release/wheels.sh, so that shared parts are built once.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
CARGO_TARGET_DIR=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/package
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR CARGO_INCREMENTAL=0
sources=$CARGO_TARGET_DIR/sources
rm -rf "$sources"
python3 release/sources.py "$sources"
idgate_flags "$sources"
sysroot=$(rustc --print sysroot)

for target; do
    [ -d "$sysroot/lib/rustlib/$target/lib" ] || rustup target add "$target"
    # Without the rlib, which prevents link-time optimization of the whole program.
    (cd "$sources" && cargo-zigbuild rustc --profile library --locked -p idgate-ffi --lib \
        --crate-type cdylib,staticlib --target "$target.2.28")
    folder=$directory/build/$target
    install -D -m 755 "$CARGO_TARGET_DIR/$target/library/libidgate_ffi.so" "$folder/libidgate_ffi.so"
    # zig's debug information contains the path of its installation.
    idgate_objcopy --strip-debug "$CARGO_TARGET_DIR/$target/library/libidgate_ffi.a" "$folder/libidgate_ffi.a"
    chmod 644 "$folder/libidgate_ffi.a"
done
