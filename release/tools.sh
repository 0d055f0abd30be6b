#!/usr/bin/env bash
# Sourced by what makes a release: puts the tools of requirements.txt into PATH, from a venv below target/.
# IDGATE_TOOLS names another place for it, which clones may share.
idgate_tools() {
    local folder requirements
    requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
    folder=${IDGATE_TOOLS:-$(dirname "${BASH_SOURCE[0]}")/../target/tools/release}
    if ! cmp --silent "$requirements" "$folder/requirements.txt"; then
        python3 -m venv "$folder" &&
            "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" &&
            cp "$requirements" "$folder/requirements.txt" || return
    fi
    folder=$(cd "$folder" && pwd) && PATH=$folder/bin:$PATH
}
idgate_tools
