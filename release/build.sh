#!/usr/bin/env bash
# Makes a release: every artefact, from a clone without changes, with nothing but the registries.
#
#   release/build.sh VERSION [--targets TARGET,…] [--out DIR]
#
# VERSION is that of the workspace. Without --targets: x86_64 and aarch64, and where rustup cannot give one of them, the
# rest is made and the end is an error. DIR (default target/release-VERSION) then has the artefacts, and below build/ what
# they are made of. docs/release.md says what each is for, how it is checked, and what to do afterwards.
set -euo pipefail
usage='usage: release/build.sh VERSION [--targets TARGET,…] [--out DIR]'
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
all='x86_64-unknown-linux-musl aarch64-unknown-linux-musl'

# refuse WHY: before anything is built.
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
    case " $all " in *" $target "*) ;; *) refuse "no program is made for $target; there are: $all" ;; esac
done
ours=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
[ "$ours" = "$version" ] ||
    refuse "Cargo.toml says $ours; write $version there (and in bindings/), commit it, and try again"
mkdir -p "${out:=$root/target/release-$version}"
out=$(cd "$out" && pwd)
[ -e "$out/build/of-a-release" ] || [ -z "$(ls -A "$out")" ] ||
    refuse "$out has files that no release left there; name an empty folder"
cd "$root"
grep -q "^## $version\b" CHANGELOG.md || grep -q '^## Unreleased' CHANGELOG.md ||
    refuse "CHANGELOG.md has no section '## $version'; write what is new in it"
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
    refuse 'the clone has changes; commit them: a release is made of a commit'
grep -q "^## $version\b" CHANGELOG.md ||
    echo "build.sh: CHANGELOG.md has $version under Unreleased: this is a trial, not a release" >&2

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022

# Whatever is not built for want of its standard library is said now, and at the end.
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

# What an earlier run left would be listed, summed and signed with the rest.
find "$out" -maxdepth 1 -type f -delete
rm -rf "$out/build"
mkdir "$out/build"
touch "$out/build/of-a-release"

started=$SECONDS
. release/tools.sh

# part NAME COMMAND…: runs one of the scripts below, and says how long it took.
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
    # Of all that was made, so they come last.
    part bills release/sbom.sh "$out" "$version"
    part 'sums and signature' release/sign.sh "$out" "$version"
}

echo "$out, in $((SECONDS - started)) s:"
find "$out" -maxdepth 1 -type f -printf '%s\t%f\n' | sort -k2
echo "install tests: IDGATE_RELEASE=$out python3 -m unittest discover -s tests/release -t tests/release"
if [ -n "$missing" ]; then
    echo "build.sh: not whole, for want of$missing; name the others with --targets" >&2
    exit 1
fi
