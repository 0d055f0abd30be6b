#!/usr/bin/env bash
# The test command, in three tiers. CI runs the first and nothing else.
#
#   tests/run.sh                  everyday: the checks that every change must pass
#   tests/run.sh --all            everyday, and everything else that a release needs
#   tests/run.sh --long           all of that, and steps that take hours
#   tests/run.sh --touched BASE   everyday, and each step of --all that depends on a path changed since BASE
#   tests/run.sh --only NAME...   the steps whose names contain NAME, and the steps that they need
#   tests/run.sh --list           the steps, each with its tier and its last duration
#
# Needs Rust, Python 3.11, Node 20 and a C compiler. Installs other tools below target/, and, if run as root, the Debian
# packages of `wanted_packages`. Third-party test data is at IDGATE_VECTORS, by default ../shared/vectors; tests that need
# it are skipped without it. IDGATE_TEST_PATIENCE multiplies the cap of every wait. Logs are in target/test-logs/. Ends
# with 0 only if no step failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    sed -n 's/^#   \(tests.run.sh.*\)/\1/p' tests/run.sh >&2
    exit 2
}

mode=everyday
base=
wanted=()
case "${1:-}" in
'') ;;
--all | --long | --list)
    [ $# -eq 1 ] || usage
    mode=${1#--}
    ;;
--touched)
    [ $# -eq 2 ] || usage
    mode=touched
    base=$(git rev-parse --verify --quiet "$2^{commit}") || {
        echo "tests/run.sh: $2 is not a commit" >&2
        exit 2
    }
    ;;
--only)
    [ $# -ge 2 ] || usage
    mode=only
    wanted=("${@:2}")
    ;;
*) usage ;;
esac

root=$PWD
logs=$root/target/test-logs
results=$logs/results
times=$logs/times
tested=$root/target/tested
# The program and the library that the tests drive.
idgate=$tested/idgate
library=$tested/libidgate_ffi.so

# All workspaces use one target folder, so that shared crates are built once.
export CARGO_TARGET_DIR=$root/target
# Incremental compilation helps only if the same clone is built again.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
export CARGO_TERM_COLOR=never
export IDGATE_VECTORS=${IDGATE_VECTORS:-$root/../shared/vectors}
export npm_config_cache=$root/target/npm-cache
export PIP_CACHE_DIR=$root/target/pip-cache
export PIP_DISABLE_PIP_VERSION_CHECK=1
export PYTHONDONTWRITEBYTECODE=1
# Failed downloads are retried for less than a minute.
export CARGO_NET_RETRY=5
export PIP_RETRIES=7
export npm_config_fetch_retries=5 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_retry_maxtimeout=10000
retries='-Dmaven.wagon.http.retryHandler.count=5 -Daether.connector.http.retryHandler.count=5'
export MAVEN_OPTS="$retries ${MAVEN_OPTS:-}"

mkdir -p "$logs"
touch "$times"

# The steps. The functions below declare each step once, in the order in which they run.
names=()
declare -A tier command paths needs condition reason in_lane missing

# everyday | wider | long NAME COMMAND...: declares a step of that tier. The functions after it add properties.
everyday() { declare_step everyday "$@"; }
wider() { declare_step all "$@"; }
long() { declare_step long "$@"; }
declare_step() {
    names+=("$2")
    tier[$2]=$1
    command[$2]=${*:3}
    step=$2
}
# The paths that a step of --all depends on, as prefixes of git paths.
on() { paths[$step]=$*; }
# The steps that must have passed before.
after() { needs[$step]=$(printf '%s\n' "$@"); }
# only_with CONDITION WHY: if the condition fails, the step is skipped with this reason.
only_with() {
    condition[$step]=$1
    reason[$step]=$2
}
# partly_with CONDITION WHAT WHY: if the condition fails, the step runs, and WHAT is reported as skipped.
partly_with() { missing[$step]+="$1	$2	$3"$'\n'; }
# Runs before the steps of --all that compile, because they would disturb its measurements.
alone() { in_lane[$step]=alone; }
# Runs in parallel with later steps: for steps that compile and do not depend on them.
beside() { in_lane[$step]=yes; }

. tests/steps/everyday.sh
. tests/steps/all.sh
. tests/steps/long.sh

last_time() {
    awk -F '\t' -v name="$1" '$1 == name { seconds = $2 } END { print seconds == "" ? "-" : seconds " s" }' "$times"
}

list() {
    local name
    for name in "${names[@]}"; do
        printf '%-10s %8s  %s\n' "${tier[$name]}" "$(last_time "$name")" "$name"
    done
}

# The changes since the base: commits, the work tree, and untracked files.
changed_paths() {
    git diff --name-only "$base" && git ls-files --others --exclude-standard
}

touches() {
    local path prefix
    for prefix in ${paths[$1]}; do
        while IFS= read -r path; do
            [[ $path != "$prefix"* ]] || return 0
        done <<<"$changes"
    done
    return 1
}

matches() {
    local part
    for part in "${wanted[@]}"; do
        [[ ${1,,} != *"${part,,}"* ]] || return 0
    done
    return 1
}

declare -A selected
select_steps() {
    local name need changes=''
    [ "$mode" != touched ] || changes=$(changed_paths)
    for name in "${names[@]}"; do
        case "$mode-${tier[$name]}" in
        everyday-everyday | touched-everyday | all-everyday | all-all | long-*) selected[$name]=yes ;;
        touched-all) ! touches "$name" || selected[$name]=yes ;;
        only-*) ! matches "$name" || selected[$name]=yes ;;
        esac
    done
    # Select the steps that a step needs. They come before it.
    local at
    for ((at = ${#names[@]} - 1; at >= 0; at--)); do
        name=${names[at]}
        [ -n "${selected[$name]:-}" ] || continue
        while IFS= read -r need; do
            [ -z "$need" ] || selected[$need]=yes
        done <<<"${needs[$name]:-}"
    done
    if [ ${#selected[@]} -eq 0 ]; then
        echo "tests/run.sh: no step has this name; see tests/run.sh --list" >&2
        exit 2
    fi
}

note() { printf '%s\t%s\n' "$1" "$2" >>"$results"; }
has_passed() { grep -qxF "passed	$1" "$results"; }
count() { grep -c "^$1	" "$results" || true; }

# Counts a skipped step, and prints the reason.
skip() {
    note skipped "$1"
    printf '%-50sskipped: %s\n' "$1" "$2"
}

# Runs a step with its output in a log. If it fails, shows the end of the log.
run_step() {
    local name=$1 log start=$SECONDS status=0
    log=$logs/${name//[^A-Za-z0-9]/-}.log
    [ ! -t 1 ] || printf '%-60s\r' "$name …"
    (eval "${command[$name]}") >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 0 ]; then
        note passed "$name"
        printf '%s\t%s\n' "$name" $((SECONDS - start)) >>"$times"
        printf '%-50sok       %4d s\n' "$name" $((SECONDS - start))
    else
        note failed "$name"
        printf '%-50sFAILED   %4d s\n' "$name" $((SECONDS - start))
        # The failure may be far from the end.
        { grep -aE "^test .* FAILED$|panicked at|^(FAIL|ERROR): |^ *not ok |✖|^(error|warning)(\[|:)" -A 12 "$log" |
            head -n 120 || true
            echo '…'
            tail -n 60 "$log"; } | sed 's/^/    | /'
        echo "    the whole log: ${log#"$root"/}"
    fi
}

consider() {
    local name=$1 need test what why
    while IFS= read -r need; do
        if [ -n "$need" ] && ! has_passed "$need"; then
            skip "$name" "the step '$need' did not pass"
            return
        fi
    done <<<"${needs[$name]:-}"
    while IFS=$'\t' read -r test what why; do
        [ -z "$test" ] || (eval "$test") >/dev/null 2>&1 || skip "$what" "$why"
    done <<<"${missing[$name]:-}"
    if [ -n "${condition[$name]:-}" ] && ! (eval "${condition[$name]}") >/dev/null 2>&1; then
        skip "$name" "${reason[$name]}"
    else
        run_step "$name"
    fi
}

# in_order TIER LANE: the selected steps of a tier that run in this lane.
in_order() {
    local name
    for name in "${names[@]}"; do
        if [ "${tier[$name]}" = "$1" ] && [ "${in_lane[$name]:-no}" = "$2" ] && [ -n "${selected[$name]:-}" ]; then
            consider "$name"
        fi
    done
}

# The steps of --all that compile use the processor while other steps wait.
lane() {
    renice -n 19 -p "$BASHPID" >/dev/null || true
    in_order all yes
}

start_lane() {
    # A separate process group, which ends with this script.
    set -m
    "$1" </dev/null &
    set +m
    other=$!
}
end_lane() {
    local status=0
    wait "$other" || status=$?
    other=
    [ "$status" -eq 0 ] || note failed "$1"
}
other=
trap '[ -z "$other" ] || kill -- "-$other" 2>/dev/null || true' EXIT

if [ "$mode" = list ]; then
    list
    exit 0
fi
rm -f "$logs"/*.log
: >"$results"
select_steps
[ -d "$IDGATE_VECTORS" ] || skip 'third-party test data' "no directory $IDGATE_VECTORS (set IDGATE_VECTORS)"
in_order everyday no
in_order all alone
start_lane lane
in_order all no
end_lane 'steps that compile in parallel'
in_order long no

# User and system time of all steps. `times` counts only the children of its own shell.
times >"$logs/cpu"
cpu=$(tail -n 1 "$logs/cpu" |
    awk '{ for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } } END { printf "%d", sum }')
downloads=$(awk -F '\t' '$1 == "fetch dependencies" { s = $2 } END { print s + 0 }' "$times")
echo "logs: target/test-logs/   time: $SECONDS s, including downloads $downloads s; CPU: $cpu s"
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" -eq 0 ]
