#!/usr/bin/env bash
# Builds a release: every artefact, from a clone without changes and the package registries.
#
#   release/build.sh VERSION [--targets TARGET,…] [--out DIR]
#
# VERSION is the version of the workspace. The default targets are x86_64 and aarch64. If rustup cannot install one of
# them, the script builds the rest and ends with an error. It writes the artefacts to DIR (default
# target/release-VERSION), and intermediate files to DIR/build. docs/release.md describes each artefact, its checks, and
# the next steps.
set -euo pipefail
usage='usage: release/build.sh VERSION [--targets TARGET,…] [--out DIR]'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
all='x86_64-unknown-linux-musl aarch64-unknown-linux-musl'

# refuse WHY: ends before anything is built.
refuse() {
    echo "build.sh: $1" >&2
    exit 2
}

version=${1:-} targets='' out=''
case $version in '' | -*) refuse "$usage" ;; esac
shift
while [ $# -gt 0 ]; do
    case $1 in
    --targets) targets=${2:?$usage} ;;
    --out) out=${2:?$usage} ;;
    *) refuse "$usage" ;;
    esac
    shift 2
done
targets=${targets//,/ }
for target in ${targets:=$all}; do
    case " $all " in *" $target "*) ;; *) refuse "no program is made for $target; the targets are: $all" ;; esac
done
ours=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
[ "$ours" = "$version" ] ||
    refuse "Cargo.toml says $ours; write $version there (and in bindings/), commit it, and try again"
mkdir -p "${out:=$root/target/release-$version}"
out=$(cd "$out" && pwd)
[ -e "$out/build/of-a-release" ] || [ -z "$(ls -A "$out")" ] ||
    refuse "$out has files that are not from a release; name an empty folder"
cd "$root"
grep -q "^## $version\b" CHANGELOG.md || grep -q '^## Unreleased' CHANGELOG.md ||
    refuse "CHANGELOG.md has no section '## $version'; add it, with what is new"
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
    refuse 'the clone has changes; commit them: a release is built from a commit'
grep -q "^## $version\b" CHANGELOG.md ||
    echo "build.sh: CHANGELOG.md has $version under Unreleased: this is a trial, not a release" >&2

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022

# Targets without a standard library are reported now and at the end.
made='' missing=''
for target in $targets; do
    libc=${target%-musl}-gnu
    for std in "$target" "$libc"; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$std/lib" ] || rustup target add "$std" || missing+=" $std"
    done
    case $missing in
    *"$target"* | *"$libc"*) echo "build.sh: no $target: rustup cannot add it" >&2 ;;
    *) made+=" $target" ;;
    esac
done
[ -n "$made" ] || refuse "nothing can be built: no standard library for$missing"

# Files of an earlier run would be listed, summed and signed as well.
find "$out" -maxdepth 1 -type f -delete
rm -rf "$out/build"
mkdir "$out/build"
touch "$out/build/of-a-release"

started=$SECONDS
. release/tools.sh

# part NAME COMMAND…: runs one of the scripts below, and prints its duration.
part() {
    local name=$1 start=$SECONDS
    shift
    "$@"
    echo "build.sh: $name: $((SECONDS - start)) s"
}

# shellcheck disable=SC2086
{
    part licences python3 release/third_party.py "$out/build/THIRD-PARTY.txt"
    part programs release/program.sh "$out" "$version" $made
    part libraries release/libraries.sh "$out" "$version" ${made//-musl/-gnu}
    part 'Debian packages' python3 release/deb.py "$out" "$version"
    part image python3 release/image.py "$out" "$version"
    part 'archives for C' python3 release/c_archive.py "$out" "$version"
    part wheels release/wheels.sh "$out" "$version" ${made//-musl/-gnu} $made
    part npm python3 release/npm.py "$out" "$version"
    part crates release/crates.sh "$out" "$version"
    # These cover all other artefacts, so they come last.
    part bills release/sbom.sh "$out" "$version"
    part 'sums and signature' release/sign.sh "$out" "$version"
}

echo "$out, in $((SECONDS - started)) s:"
find "$out" -maxdepth 1 -type f -printf '%s\t%f\n' | sort -k2
echo "install tests: IDGATE_RELEASE=$out python3 -m unittest discover -s tests/release -t tests/release"
if [ -n "$missing" ]; then
    echo "build.sh: incomplete: no standard library for$missing; name the other targets with --targets" >&2
    exit 1
fi
