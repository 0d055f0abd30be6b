#!/usr/bin/env bash
# The static program for each Linux target, and its archive.
#
#   release/program.sh DIR VERSION [TARGET…]
#
# It writes DIR/build/TARGET/idgate without symbols, DIR/build/TARGET/idgate.debug with them, and man pages and completions
# to DIR/build/manual. The program contains the name of the debug file, so gdb finds it. The same commit gives the same
# bytes in any folder.
#
# zig compiles C code. rustc links by itself, with the musl of its targets. So the program for x86_64 is position
# independent (Rust has no such static program for aarch64), and does not contain the path of zig.
set -euo pipefail
usage='usage: release/program.sh DIR VERSION [TARGET…]'
directory=$(mkdir -p "${1:?$usage}" && cd "$1" && pwd)
version=${2:?$usage}
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- {x86_64,aarch64}-unknown-linux-musl
. release/tools.sh

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
CARGO_TARGET_DIR=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/program
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR CARGO_INCREMENTAL=0
sysroot=$(rustc --print sysroot)
# Relocations as a bitmap, which musl reads, save 0.5 MiB. Frame pointers make the unwind tables 0.3 MiB smaller, and the
# program no slower. cold.ld moves code that is seldom called, and says why.
idgate_flags "$PWD" -Clink-self-contained=yes -Clink-arg=--pack-dyn-relocs=relr -Cforce-frame-pointers=yes \
    "-Clink-arg=-T$PWD/release/cold.ld"
# C code needs no unwind tables: panics never leave a callback from C, and gdb reads .debug_frame. AES-GCM for AVX-512 takes
# 0.7 MiB, and helps only programs that encrypt megabytes.
CFLAGS+=' -fno-asynchronous-unwind-tables -fno-unwind-tables -DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX'
# mimalloc records its compile time, and zig's cache may return the object of an earlier commit.
CFLAGS+=' -Wno-builtin-macro-redefined -D__DATE__="-" -D__TIME__="-"'
export CARGO_TARGET_{X86_64,AARCH64}_UNKNOWN_LINUX_MUSL_LINKER=rust-lld

for target; do
    [ -d "$sysroot/lib/rustlib/$target/lib" ] || rustup target add "$target"
    # Cargo does not track this file.
    [ ! release/cold.ld -nt "$CARGO_TARGET_DIR/$target/program/idgate" ] || touch idgate-server/program/src/main.rs
done
# All targets in one call: the last step of each, which optimizes the whole program, uses one thread.
cargo zigbuild --profile program --locked -p idgate-program "${@/#/--target=}"

runs_here=
for target; do
    folder=$directory/build/$target
    mkdir -p "$folder"
    idgate_objcopy --only-keep-debug "$CARGO_TARGET_DIR/$target/program/idgate" "$folder/idgate.debug"
    # This stores the name of the debug file and its checksum in the program.
    (cd "$folder" && idgate_objcopy --strip-all --add-gnu-debuglink=idgate.debug \
        "$CARGO_TARGET_DIR/$target/program/idgate" idgate)
    chmod 644 "$folder/idgate.debug"
    [ "${target%%-*}" != "$(uname -m)" ] || runs_here=$folder/idgate
done

if [ -n "$runs_here" ]; then
    [ "$("$runs_here" --version)" = "idgate $version" ] || {
        echo "program.sh: the program prints the version $("$runs_here" --version), not $version" >&2
        exit 1
    }
    rm -rf "$directory/build/manual"
    "$runs_here" manual "$directory/build/manual"
elif [ ! -d "$directory/build/manual" ]; then
    echo "program.sh: the program writes its own man pages; also build $(uname -m)-unknown-linux-musl" >&2
    exit 1
fi
python3 release/program.py "$directory" "$version"
