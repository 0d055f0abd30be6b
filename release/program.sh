#!/usr/bin/env bash
# The program for each Linux, static, and what it is shipped in as an archive.
#
#   release/program.sh DIR VERSION [TARGET…]
#
# DIR/build/TARGET/idgate is without symbols, DIR/build/TARGET/idgate.debug has them: gdb finds it by the name that
# is left in the program. DIR/build/manual has man pages and completions. The same commit gives the same bytes in any
# folder.
#
# C code is compiled by zig. rustc links by itself, with the musl that its targets bring: so the program for x86_64 is
# position independent (for aarch64 Rust has no such kind of static program), and nothing of where zig is installed is in
# it.
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
# Relocations as a bitmap, which musl reads: 0.5 MiB less. With a frame pointer there is less to say about how a frame is
# unwound: 0.3 MiB less, and no slower. What is seldom called is put aside: cold.ld says why.
idgate_flags "$PWD" -Clink-self-contained=yes -Clink-arg=--pack-dyn-relocs=relr -Cforce-frame-pointers=yes \
    "-Clink-arg=-T$PWD/release/cold.ld"
# C is never unwound: a panic of ours does not leave what it calls back, and gdb reads .debug_frame. AES-GCM for AVX-512
# is 0.7 MiB, and of use to who encrypts megabytes.
CFLAGS+=' -fno-asynchronous-unwind-tables -fno-unwind-tables -DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX'
# mimalloc writes down when it was compiled, and zig's cache gives what it compiled for an earlier commit.
CFLAGS+=' -Wno-builtin-macro-redefined -D__DATE__="-" -D__TIME__="-"'
export CARGO_TARGET_{X86_64,AARCH64}_UNKNOWN_LINUX_MUSL_LINKER=rust-lld

for target; do
    [ -d "$sysroot/lib/rustlib/$target/lib" ] || rustup target add "$target"
    # Cargo does not look at it.
    [ ! release/cold.ld -nt "$CARGO_TARGET_DIR/$target/program/idgate" ] || touch idgate-server/program/src/main.rs
done
# All at once: the last step of each, which optimizes the whole program, has one thread.
cargo zigbuild --profile program --locked -p idgate-program "${@/#/--target=}"

runs_here=
for target; do
    folder=$directory/build/$target
    mkdir -p "$folder"
    idgate_objcopy --only-keep-debug "$CARGO_TARGET_DIR/$target/program/idgate" "$folder/idgate.debug"
    # It writes down the name of the file and a sum over it.
    (cd "$folder" && idgate_objcopy --strip-all --add-gnu-debuglink=idgate.debug \
        "$CARGO_TARGET_DIR/$target/program/idgate" idgate)
    chmod 644 "$folder/idgate.debug"
    [ "${target%%-*}" != "$(uname -m)" ] || runs_here=$folder/idgate
done

if [ -n "$runs_here" ]; then
    [ "$("$runs_here" --version)" = "idgate $version" ] || {
        echo "program.sh: the program says that it is $("$runs_here" --version), not $version" >&2
        exit 1
    }
    rm -rf "$directory/build/manual"
    "$runs_here" manual "$directory/build/manual"
elif [ ! -d "$directory/build/manual" ]; then
    echo "program.sh: the program writes its man pages itself; build $(uname -m)-unknown-linux-musl, too" >&2
    exit 1
fi
python3 release/program.py "$directory" "$version"
