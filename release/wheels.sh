#!/usr/bin/env bash
# The Python package: an sdist, and a wheel for each Linux.
#
#   release/wheels.sh DIR VERSION [TARGET…]
#
# A wheel for glibc needs at most 2.28 (manylinux_2_28: RHEL 8, Debian 10, Ubuntu 20.04), one for musl at most 1.2
# (musllinux_1_2: Alpine 3.13). maturin checks the symbols, and refuses a library that needs more. The library for musl is
# built with `-crt-static`, so the process uses the libc of its machine: rustc links programs for musl statically, and
# then makes no shared library at all.
#
# It writes the library in the wheel to DIR/build/TARGET/package/libidgate_ffi.so for release/npm.py, so that one library is
# built once. Each wheel has LICENSE, THIRD-PARTY.txt and its bill of materials in its .dist-info. The same commit gives the
# same bytes in any folder.
#
# There are no wheels for macOS and Windows yet. There, with Rust, `pip install idgate-VERSION.tar.gz` builds the same.
set -euo pipefail
usage='usage: release/wheels.sh DIR VERSION [TARGET…]'
directory=$(mkdir -p "${1:?$usage}" && cd "$1" && pwd)
version=${2:?$usage}
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "$version" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" ] || {
    echo "wheels.sh: the version in Cargo.toml is not $version" >&2
    exit 1
}
[ $# -gt 0 ] || set -- {x86_64,aarch64}-unknown-linux-{gnu,musl}
. release/tools.sh

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
CARGO_TARGET_DIR=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/package
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR CARGO_INCREMENTAL=0

sources=$CARGO_TARGET_DIR/sources
rm -rf "$sources"
python3 release/sources.py "$sources"
(cd "$sources/bindings/python" && maturin sdist --out "$directory")

third_party=$directory/build/THIRD-PARTY.txt
[ -e "$third_party" ] || python3 release/third_party.py "$third_party"
cp "$third_party" "$sources/bindings/python/"
sed -i -e 's/^license-files = .*/license-files = ["LICENSE", "THIRD-PARTY.txt"]/' \
    -e 's/^sbom = .*/sbom = { rust = false, include = ["idgate.cdx.json"] }/' "$sources/bindings/python/pyproject.toml"
for target; do
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || rustup target add "$target"
    case $target in
    *-gnu)
        policy=manylinux_2_28
        idgate_flags "$sources"
        ;;
    *-musl)
        policy=musllinux_1_2
        idgate_flags "$sources" -Ctarget-feature=-crt-static
        ;;
    *)
        echo "wheels.sh: no wheel is made for $target" >&2
        exit 1
        ;;
    esac
    python3 release/sbom.py wheel "$target" "$version" >"$sources/bindings/python/idgate.cdx.json"
    (cd "$sources/bindings/python" && maturin build --zig --target "$target" --compatibility "$policy" \
        --profile library --out "$directory")
    install -D -m 644 "$CARGO_TARGET_DIR/$target/library/libidgate_ffi.so" \
        "$directory/build/$target/package/libidgate_ffi.so"
done
