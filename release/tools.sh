#!/usr/bin/env bash
# Sourced by what makes a release: puts the tools of requirements.txt into PATH, from a venv below target/.
# RELEASE_TOOLS names another place for it, which clones may share.
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

# idgate_flags FOLDER FLAG…: exports what has rustc and C compilers write no path of this machine; FOLDER is where the
# sources lie, CARGO_TARGET_DIR is set.
idgate_flags() {
    local home sysroot zig all IFS=$'\x1f'
    home=${CARGO_HOME:-$HOME/.cargo} && sysroot=$(rustc --print sysroot) &&
        zig=$(python3 -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))') || return
    # The last that fits counts.
    all=("${@:2}" "--remap-path-prefix=$home=/cargo" "--remap-path-prefix=$sysroot=/rust"
        "--remap-path-prefix=$1=/idgate" "--remap-path-prefix=$CARGO_TARGET_DIR=/target")
    export CARGO_ENCODED_RUSTFLAGS="${all[*]}" CFLAGS="-ffile-prefix-map=$home=/cargo"
    CFLAGS+=" -ffile-prefix-map=$zig=/zig -ffile-prefix-map=$CARGO_TARGET_DIR=/target"
}

# idgate_objcopy ARGUMENT…: rustc's own, which knows every architecture.
idgate_objcopy() {
    local sysroot found
    sysroot=$(rustc --print sysroot) && found=("$sysroot"/lib/rustlib/*/bin/rust-objcopy) || return
    LD_LIBRARY_PATH=$sysroot/lib "${found[0]}" "$@"
}
idgate_tools
