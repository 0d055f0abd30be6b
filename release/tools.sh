#!/usr/bin/env bash
# Sourced by the release scripts: puts the tools of requirements.txt into PATH, from a venv below target/.
# RELEASE_TOOLS names another place for the venv, which clones may share.
idgate_tools() {
    local folder requirements
    requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
    folder=${RELEASE_TOOLS:-$(dirname "${BASH_SOURCE[0]}")/../target/tools/release}
    if ! cmp --silent "$requirements" "$folder/requirements.txt"; then
        python3 -m venv "$folder" &&
            "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" &&
            cp "$requirements" "$folder/requirements.txt" || return
    fi
    folder=$(cd "$folder" && pwd) && PATH=$folder/bin:$PATH
}

# idgate_flags FOLDER FLAG…: exports flags that keep paths of this machine out of the output of rustc and C compilers.
# FOLDER has the sources, and CARGO_TARGET_DIR must be set.
idgate_flags() {
    local home sysroot zig all IFS=$'\x1f'
    home=${CARGO_HOME:-$HOME/.cargo} && sysroot=$(rustc --print sysroot) &&
        zig=$(python3 -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))') || return
    # The last matching prefix wins.
    all=("${@:2}" "--remap-path-prefix=$home=/cargo" "--remap-path-prefix=$sysroot=/rust"
        "--remap-path-prefix=$1=/idgate" "--remap-path-prefix=$CARGO_TARGET_DIR=/target")
    export CARGO_ENCODED_RUSTFLAGS="${all[*]}" CFLAGS="-ffile-prefix-map=$home=/cargo"
    CFLAGS+=" -ffile-prefix-map=$zig=/zig -ffile-prefix-map=$CARGO_TARGET_DIR=/target"
}

# idgate_objcopy ARGUMENT…: the objcopy of rustc, which supports every architecture.
idgate_objcopy() {
    local sysroot found
    sysroot=$(rustc --print sysroot) && found=("$sysroot"/lib/rustlib/*/bin/rust-objcopy) || return
    LD_LIBRARY_PATH=$sysroot/lib "${found[0]}" "$@"
}
idgate_tools
