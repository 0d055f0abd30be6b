#!/usr/bin/env bash
# Writes a bill of materials for each artefact, ARTEFACT.cdx.json (CycloneDX 1.6), and DIR/build/THIRD-PARTY.txt.
#
#   release/sbom.sh DIR VERSION
#
# It refuses files of an unknown kind in DIR, so that every released file has a bill.
set -euo pipefail
usage='usage: release/sbom.sh DIR VERSION'
directory=$(cd "${1:?$usage}" && pwd)
version=${2:?$usage}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -e "$directory/build/THIRD-PARTY.txt" ] || python3 release/third_party.py "$directory/build/THIRD-PARTY.txt"

# bill KIND TARGET ARTEFACT: artefacts of the same kind and target share one bill.
bill() {
    local made=$directory/build/sbom/$1-$2.cdx.json
    if [ ! -e "$made" ]; then
        mkdir -p "$(dirname "$made")"
        python3 release/sbom.py "$1" "$2" "$version" >"$made.new"
        mv "$made.new" "$made"
    fi
    install -m 644 "$made" "$3.cdx.json"
}

# cpu NAME: the processor in a file's name, as targets spell it.
cpu() {
    case $1 in
    *x86_64* | *amd64* | *x64*) echo x86_64 ;;
    *aarch64* | *arm64*) echo aarch64 ;;
    *)
        echo "sbom.sh: no known processor in the name $1" >&2
        return 1
        ;;
    esac
}

# in_the_image: the targets in the image of release/image.py, separated by commas.
in_the_image() {
    local program targets=''
    for program in "$directory"/build/*-musl/idgate; do
        targets+=,$(basename "$(dirname "$program")")
    done
    echo "${targets#,}"
}

# bill_for ARTEFACT: chooses by name; the patterns of C archives (c, ffi) come before those of programs.
bill_for() {
    local name processor
    name=$(basename "$1")
    case $name in
    *.cdx.json | SHA256SUMS* | release-notes.md | THIRD-PARTY.txt) return ;;
    *.crate)
        bill "crate-${name%-"$version".crate}" all "$1"
        ;;
    *-manylinux*.whl) processor=$(cpu "$name") && bill wheel "$processor-unknown-linux-gnu" "$1" ;;
    *-musllinux*.whl) processor=$(cpu "$name") && bill wheel "$processor-unknown-linux-musl" "$1" ;;
    "idgate-$version.tar.gz") bill wheel all "$1" ;;
    "idgate-$version.tgz") bill npm all "$1" ;;
    idgate-linux-*-gnu-*.tgz) processor=$(cpu "$name") && bill npm "$processor-unknown-linux-gnu" "$1" ;;
    idgate-linux-*-musl-*.tgz) processor=$(cpu "$name") && bill npm "$processor-unknown-linux-musl" "$1" ;;
    *-c-*-gnu* | *ffi*-gnu*) processor=$(cpu "$name") && bill c "$processor-unknown-linux-gnu" "$1" ;;
    *-c-* | *ffi*) processor=$(cpu "$name") && bill c "$processor-unknown-linux-musl" "$1" ;;
    *.oci.tar) bill program "$(in_the_image)" "$1" ;;
    idgate*) processor=$(cpu "$name") && bill program "$processor-unknown-linux-musl" "$1" ;;
    *)
        echo "sbom.sh: unknown kind of artefact: $name" >&2
        return 1
        ;;
    esac
}

for artefact in "$directory"/*; do
    [ ! -f "$artefact" ] || bill_for "$artefact"
done
