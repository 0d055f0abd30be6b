#!/usr/bin/env bash
# The last step of a release: release-notes.md, SHA256SUMS over all files in DIR, and its signature.
#
#   RELEASE_SIGNING_KEY=FILE release/sign.sh DIR VERSION
#
# The key is a minisign key (`minisign -G -p idgate.pub -s FILE`). minisign asks for its password, if it has one. Without a
# key the release is not signed, and the script says so. Users verify the signature and then the sums:
#
#   minisign -V -p idgate.pub -m SHA256SUMS && sha256sum --check --ignore-missing SHA256SUMS
#
# The notes are the section of the version in CHANGELOG.md, or else the section "Unreleased".
set -euo pipefail
usage='usage: release/sign.sh DIR VERSION'
directory=$(cd "${1:?$usage}" && pwd)
version=${2:?$usage}
changelog=${IDGATE_CHANGELOG:-$(dirname "${BASH_SOURCE[0]}")/../CHANGELOG.md}

# section TITLE: the text of this section of the changelog, or nothing.
section() {
    awk -v title="## $1" '
        index($0, "## ") == 1 { inside = ($0 == title || index($0, title " ") == 1); next }
        inside { print }' "$changelog" | sed -e '/./,$!d'
}

notes=$(section "$version")
if [ -z "$notes" ]; then
    echo "sign.sh: CHANGELOG.md has no section $version; the notes are its section Unreleased" >&2
    notes=$(section Unreleased)
fi
[ -n "$notes" ] || {
    echo 'sign.sh: CHANGELOG.md says nothing about this release' >&2
    exit 1
}
printf '# idgate %s\n\n%s\n' "$version" "$notes" >"$directory/release-notes.md"

cd "$directory"
rm -f SHA256SUMS SHA256SUMS.minisig
# All files except intermediate ones. The list is made before its own file exists.
sums=$(find . -path ./build -prune -o -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum)
echo "$sums" >SHA256SUMS

if [ -z "${RELEASE_SIGNING_KEY:-}" ]; then
    echo 'sign.sh: RELEASE_SIGNING_KEY names no key: SHA256SUMS is not signed' >&2
    exit 0
fi
command -v minisign >/dev/null || {
    echo 'sign.sh: minisign is not installed (apt-get install minisign)' >&2
    exit 1
}
minisign -S -s "$RELEASE_SIGNING_KEY" -m SHA256SUMS -x SHA256SUMS.minisig -t "idgate $version"
