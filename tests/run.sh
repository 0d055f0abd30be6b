#!/usr/bin/env bash
# The test command: everything that matters, from a fresh clone. CI runs this and nothing else.
#
#   tests/run.sh          format, lints, Rust tests, documentation, interop, real wallets
#   tests/run.sh --long   also: a whole release, minimum Rust version, debug-profile tests, advisories,
#                         mutants, and where a nightly compiler is present fuzzing of each parser for a minute,
#                         and the C ABI under Miri
#
# Needs Rust, Python 3.11, Node 20 and a C compiler; installs the rest below target/, and by apt-get,
# where this runs as root, what `wanted_packages` says.
# Third-party test data: IDGATE_VECTORS, default ../shared/vectors; what needs it is skipped
# without it. Logs: target/test-logs/. Ends with 0 only if no step failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=no
case "${1:-}" in
'') ;;
--long) long=yes ;;
*)
    echo "usage: tests/run.sh [--long]" >&2
    exit 2
    ;;
esac

root=$PWD
logs=$root/target/test-logs
idgate=$root/target/release/idgate
library=$root/target/tested/libidgate_ffi.so
minimum_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# One target folder for every workspace, so that what they share is built once.
export CARGO_TARGET_DIR=$root/target
export CARGO_INCREMENTAL=0
export CARGO_TERM_COLOR=never
export IDGATE_VECTORS=${IDGATE_VECTORS:-$root/../shared/vectors}
export npm_config_cache=$root/target/npm-cache
export PIP_CACHE_DIR=$root/target/pip-cache
export PIP_DISABLE_PIP_VERSION_CHECK=1
export PYTHONDONTWRITEBYTECODE=1

# A line for each step: passed, failed or skipped.
results=$logs/results
mkdir -p "$logs"
rm -f "$logs"/*.log
: >"$results"

# step NAME COMMAND…: runs it with its output in a log; shows the end of the log if it fails.
step() {
    local name=$1 log start=$SECONDS status=0
    shift
    log=$logs/${name//[^A-Za-z0-9]/-}.log
    [ ! -t 1 ] || printf '%-60s\r' "$name …"
    ("$@") >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 0 ]; then
        echo passed >>"$results"
        printf '%-50sok       %4d s\n' "$name" $((SECONDS - start))
    else
        echo failed >>"$results"
        printf '%-50sFAILED   %4d s\n' "$name" $((SECONDS - start))
        # What failed may stand far above the end.
        { grep -aE "^test .* FAILED$|panicked at|^(FAIL|ERROR): |^ *not ok |✖" -A 12 "$log" | head -n 120 || true
            echo '…'
            tail -n 60 "$log"; } | sed 's/^/    | /'
        echo "    the whole log: ${log#"$root"/}"
    fi
    return "$status"
}

# skip NAME WHY: counts a step that does not run.
skip() {
    echo skipped >>"$results"
    printf '%-50sskipped: %s\n' "$1" "$2"
}

# step_if CONDITION WHY NAME COMMAND…: the step where the condition holds, else skipped, and why.
step_if() {
    local condition=$1 why=$2
    shift 2
    if $condition >/dev/null 2>&1; then
        step "$@" || true
    else
        skip "$1" "$why"
    fi
}

# beside COMMAND…: runs it while the next steps run, until `wait_for_it`.
beside() {
    # A process group of its own, which ends when this does; what `timeout` runs there goes on.
    set -m
    "$@" </dev/null &
    set +m
    other=$!
}
other=
trap '[ -z "$other" ] || kill -- "-$other" 2>/dev/null || true' EXIT

# Fails where it came to no good end, as where it was killed.
wait_for_it() {
    local status=0
    [ -z "$other" ] || wait "$other" || status=$?
    other=
    return "$status"
}

count() {
    grep -c "^$1$" "$results" || true
}

# What Debian has for these steps, where it is missing.
wanted_packages() {
    command -v promtool >/dev/null || echo prometheus
    command -v systemd-analyze >/dev/null || echo systemd
    has_postgresql || echo postgresql
    command -v nginx >/dev/null || echo nginx
    command -v caddy >/dev/null || echo caddy
    command -v minisign >/dev/null || echo minisign
    # One peer links OpenSSL.
    has_openssl || echo libssl-dev pkg-config
    [ -n "$(chromium_path)" ] || echo chromium
    has_firefox || echo firefox-esr
    # A root that has nothing but Debian.
    [ "$long" = no ] || command -v debootstrap >/dev/null || echo debootstrap
}

# Without starting a server (RUNLEVEL); each alone, so that one that cannot be had keeps none of the others away.
install_packages() {
    local packages package
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get; then
        echo 'only root installs, with apt-get'
        return
    fi
    packages=$(wanted_packages)
    [ -n "$packages" ] || return 0
    timeout 120 apt-get update || return 0
    for package in $packages; do
        # The steps wait no longer than that for a mirror that hangs.
        [ "$SECONDS" -lt 1200 ] || break
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive timeout 600 \
            apt-get install -y --no-install-recommends "$package" || true
    done
} >"$logs/packages.log" 2>&1

# Where the tests look for it.
has_postgresql() {
    compgen -G '/usr/lib/postgresql/1[5-9]/bin/initdb' >/dev/null ||
        command -v initdb >/dev/null || [ -x "$(pg_config --bindir 2>/dev/null)/initdb" ]
}

# For josekit.
has_openssl() {
    cc -E -x c - <<<'#include <openssl/ssl.h>' >/dev/null 2>&1
}

chromium_path() {
    echo "${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
}

firefox_path() {
    command -v firefox-esr || command -v firefox || true
}

has_firefox() {
    [ -n "$(firefox_path)" ]
}

# Where `set -e` is off: the steps of a function stop at its first failure.
toolchain() {
    rustc --version && cargo --version && cc --version && node --version && npm --version &&
        python3 --version || return
    cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy
}

fetch() {
    cargo fetch --locked && cargo fetch --locked --manifest-path tests/interop/Cargo.toml
}

format() {
    cargo fmt --all -- --check &&
        cargo fmt --manifest-path tests/interop/Cargo.toml -- --check &&
        cargo fmt --manifest-path tests/fuzz/Cargo.toml -- --check
}

dependency_rules() {
    (cd tests/check && python3 -m unittest -v) &&
        cargo metadata --format-version 1 --locked --all-features |
        python3 tests/check/deny.py deny.toml
}

core_alone() {
    local features
    for features in '' rustcrypto aws-lc-rs rustcrypto,os-entropy; do
        cargo check --release --locked -p idgate-core --no-default-features \
            --features "$features" || return
    done
}

# The program for production: no sample issuers and no sample wallet.
server_without_sandbox() {
    cargo clippy --release --locked -p idgate-server --no-default-features -- -D warnings
}

# A target without an operating system: no files, no clock, no random source to fall back on.
core_for_wasm() {
    local features
    for features in '' rustcrypto; do
        cargo check --release --locked -p idgate-core --target wasm32-unknown-unknown \
            --no-default-features --features "$features" || return
    done
}

has_wasm() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib" ] ||
        rustup target add wasm32-unknown-unknown >"$logs/wasm.log" 2>&1
}

# For what embeds it elsewhere, with what a release is made with: zig is a C compiler for every system. The objects
# are only made, never linked: a check does without their optimization.
other_systems=(x86_64-pc-windows-gnu aarch64-apple-darwin)
library_elsewhere() {
    local target
    . release/tools.sh
    for target in "${other_systems[@]}"; do
        env "CFLAGS_${target//-/_}=-O0" cargo-zigbuild clippy --release --locked --target "$target" \
            -p idgate-core -p idgate-fetch -p idgate-ffi -- -D warnings || return
    done
}

has_other_systems() {
    local target
    for target in "${other_systems[@]}"; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] ||
            rustup target add "$target" >>"$logs/other-systems.log" 2>&1 || return 1
    done
}

documentation() {
    RUSTDOCFLAGS='-D warnings' cargo doc --release --workspace --no-deps --locked
}

# mdBook without its server and its search, which nothing here needs.
find_mdbook() {
    local version=0.5.4
    PATH=$root/target/tools/bin:$PATH
    [ "$(mdbook --version 2>/dev/null)" = "mdbook v$version" ] || cargo install --locked mdbook \
        --version "$version" --no-default-features --root target/tools >"$logs/mdbook.log" 2>&1 </dev/null
}

site() {
    rm -rf target/book && mdbook build docs && python3 tests/docs/links.py target/book &&
        cd tests/docs && python3 -m unittest -v test_site
}

# In a network of their own where that can be had, so that the ports that pages name are free; what is built
# anew needs the registry.
examples_of_the_site() {
    local own=()
    [ -n "${IDGATE_LONG:-}" ] || ! unshare -rn true || own=(unshare -rn)
    export IDGATE_PYTHON=$root/target/venv-bindings/bin/python
    cd tests/docs && "${own[@]}" python3 -m unittest -v "$@"
}

first_program_in_rust() {
    IDGATE_LONG=1 examples_of_the_site test_snippets.SnippetsTest.test_rust
}

webhook_receivers() {
    (cd examples/webhooks && python3 -m unittest -v) &&
        node --test examples/webhooks/verify.test.mjs
}

# interop FEATURES
interop() {
    cargo clippy --release --manifest-path tests/interop/Cargo.toml --all-targets --locked \
        --features "$1" -- -D warnings &&
        cargo test --release --manifest-path tests/interop/Cargo.toml --locked --features "$1"
}

node_wallet() {
    cd tests/wallets/node && npm ci --no-audit --no-fund && IDGATE_BIN=$idgate npm test
}

credo_wallet() {
    (cd tests/wallets/node && npm ci --no-audit --no-fund) && cd tests/wallets/credo &&
        npm ci --no-audit --no-fund && IDGATE_BIN=$idgate npm test
}

python_wallet() {
    local venv=$root/target/venv-wallets
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/wallets/python/requirements.txt &&
        cd tests/wallets/python && IDGATE_BIN=$idgate "$venv/bin/python" -m unittest -v
}

jvm_wallet() {
    local venv=$root/target/venv-wallets
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/wallets/python/requirements.txt &&
        cd tests/wallets/jvm && IDGATE_BIN=$idgate "$venv/bin/python" -m unittest -v
}

# What packs the program and the library, on those that were built for the tests; release_packages has the rest.
packagers() {
    cd tests/release && IDGATE_BIN=$idgate python3 -m unittest -v test_program test_deb test_image test_c_archive
}

# What cannot be started here is held against the schemas of its kind.
deployment_schemas() {
    local venv=$root/target/venv-deploy
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/deploy/requirements.txt &&
        "$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec \
            examples/deploy/compose-postgres.yml &&
        "$venv/bin/kubernetes-validate" --strict examples/deploy/kubernetes.yml &&
        "$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
}

# on_postgresql TEST…: behaviour tests with everything in a database. Of the whole workspace, so that
# its crates keep the features that they were built with.
on_postgresql() {
    IDGATE_TEST_STORE=postgres cargo test --release --locked --workspace --lib -- "$@"
}

# in_front PROXY: the tests of what examples/deploy/ has for it.
in_front() {
    cd tests/front && IDGATE_BIN=$idgate python3 -m unittest -v "test_$1"
}

shop() {
    (cd tests/wallets/node && npm ci --no-audit --no-fund) &&
        (cd tests/page && npm ci --no-audit --no-fund) &&
        (cd examples/shop && npm ci --no-audit --no-fund) && cd tests/shop &&
        IDGATE_BIN=$idgate CHROMIUM=$CHROMIUM npm test
}

page() {
    (cd tests/wallets/node && npm ci --no-audit --no-fund) && cd tests/page &&
        npm ci --no-audit --no-fund && IDGATE_BIN=$idgate CHROMIUM=$CHROMIUM npm test
}

page_in_firefox() {
    (cd tests/wallets/node && npm ci --no-audit --no-fund) && cd tests/page &&
        npm ci --no-audit --no-fund && IDGATE_BIN=$idgate FIREFOX=$(firefox_path) npm run firefox
}

python_package() {
    local venv=$root/target/venv-bindings
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement bindings/python/requirements-test.txt &&
        rm -rf target/wheels && "$venv/bin/pip" wheel --quiet --wheel-dir target/wheels ./bindings/python &&
        "$venv/bin/pip" install --quiet --force-reinstall --no-deps target/wheels/idgate-*.whl &&
        cd bindings/python && "$venv/bin/mypy" src
}

python_binding() {
    local venv=$root/target/venv-bindings
    (cd bindings/python/tests &&
        IDGATE_CASES=$root/target/cases "$venv/bin/python" -m unittest -v) && drivers_of_the_examples &&
        IDGATE_PYTHON=$venv/bin/python node --test --test-name-pattern=fastapi bindings/node/test/age_page.test.js
}

# What drives the examples of the bindings: a wallet, and a browser where there is one.
drivers_of_the_examples() {
    (cd tests/wallets/node && npm ci --no-audit --no-fund) &&
        (cd tests/page && npm ci --no-audit --no-fund) && export CHROMIUM
}

# The package's own tests, and the same in a project elsewhere that installed it.
node_binding() {
    local project=$root/target/npm-project
    export IDGATE_LIBRARY=$library IDGATE_CASES=$root/target/cases
    drivers_of_the_examples || return
    # Bun and Deno; without them their tests say that they are skipped.
    (cd bindings/node/test/runtimes && npm ci --no-audit --no-fund) || true
    (cd bindings/node && npm ci --no-audit --no-fund && npm run types &&
        node --test test/*.test.js) || return
    rm -rf "$project" && mkdir "$project" && cd "$project" && npm init --yes >/dev/null &&
        npm install --no-audit --no-fund "$root/bindings/node" &&
        cp "$root"/bindings/node/test/{cases.js,cases.test.js,api.test.js,offers.test.js,browsers.test.js,fetching.test.js} . &&
        node --test ./*.test.js
}

# What a release is made of, in little, with the library and the wheel that are built; IDGATE_RELEASE names the folder
# of a whole release, whose artefacts are then installed and looked at instead.
release_packages() {
    local venv=$root/target/venv-release
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/release/requirements.txt &&
        cd tests/release && "$venv/bin/python" -m unittest -v test_wheel test_npm test_crates test_sbom test_sign
}

# What a release is linked with, for both processors.
has_release_targets() {
    local target
    for target in {x86_64,aarch64}-unknown-linux-{gnu,musl}; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] ||
            rustup target add "$target" >>"$logs/release-targets.log" 2>&1 || return 1
    done
}

# Made as whoever releases makes it, then installed and looked at.
whole_release() {
    local venv=$root/target/venv-release out=$root/target/release-tested
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/release/requirements.txt &&
        release/build.sh "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" --out "$out" &&
        cd tests/release && IDGATE_LONG=1 IDGATE_BIN=$idgate IDGATE_RELEASE=$out "$venv/bin/python" -m unittest -v
}

interface_description() {
    local venv=$root/target/venv-openapi
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/openapi/requirements.txt &&
        cd tests/openapi && IDGATE_BIN=$idgate "$venv/bin/python" -m unittest -v test_description
}

# A generator whose tools (Maven, a JDK, Go) are not there is skipped, with a word in the log.
generated_clients() {
    local venv=$root/target/venv-clients
    python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --requirement tests/openapi/requirements-clients.txt &&
        cd tests/openapi && IDGATE_BIN=$idgate "$venv/bin/python" -m unittest -v test_clients
}

# What the normal run does in little: 200 kills under load in each profile, 200 more while webhooks are
# due, 200 of nodes that share a database, and commands killed at each of their writes.
long_forms() {
    IDGATE_LONG=1 cargo test --release --locked -p idgate-it -- crash mutat postgres:: reseal:: copying::
}

minimum_version() {
    rustup toolchain install "$minimum_rust" --profile minimal &&
        cargo "+$minimum_rust" check --locked --workspace --target-dir target/minimum-rust
}

# The database of RustSec is fetched from where it is published; docs/supply-chain.md has what is done elsewhere.
find_advisories() {
    PATH=$root/target/tools/bin:$PATH
    { { cargo deny --version || cargo install --locked cargo-deny --root target/tools; } &&
        timeout 120 cargo deny fetch db; } >"$logs/cargo-deny.log" 2>&1 </dev/null
}

advisories() {
    cargo deny --all-features --locked check
}

# The release before this one; nothing where there is none.
last_release() {
    git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true
}

# What is published, against the release before it: a change that takes something away needs the version for it.
changes_of_the_interface() {
    local tag=$1 name features
    PATH=$root/target/tools/bin:$PATH
    cargo semver-checks --version || cargo install --locked cargo-semver-checks --root target/tools || return
    for name in core fetch ffi; do
        # Without `internals`, which is for this repository alone.
        features=()
        [ "$name" != core ] || features=(--features rustcrypto,aws-lc-rs,os-entropy)
        cargo semver-checks --package "idgate-$name" --baseline-rev "$tag" --only-explicit-features "${features[@]}" ||
            return
    done
}

find_miri() {
    cargo +nightly miri --version >/dev/null 2>&1 ||
        rustup component add miri rust-src --toolchain nightly >"$logs/miri.log" 2>&1
}

# Miri looks at each access to memory. It runs no C, so the provider in Rust checks the signatures, which takes minutes
# for each: what is left out makes many of them. A name that no test has is a failure.
c_abi_under_miri() {
    local miri=(cargo +nightly miri test --locked --target-dir target/miri -p idgate-ffi)
    export MIRIFLAGS=-Zmiri-disable-isolation
    "${miri[@]}" --lib -- --skip trust::tests:: &&
        "${miri[@]}" --test presentation -- an_sd_jwt_vc_is_verified |
        awk '{ print } /^test result: ok\. 1 passed/ { ran = 1 } END { exit !ran }'
}

# What a target finds stays below target/fuzz/.
fuzzing() {
    local corpus=$root/target/fuzz/corpus directory name
    PATH=$root/target/tools/bin:$PATH
    cargo fuzz --version || cargo install --locked cargo-fuzz --root target/tools || return
    cargo run --release --locked -p idgate-it --bin fuzz-seeds -- "$corpus" || return
    for directory in "$corpus"/*/; do
        name=$(basename "$directory")
        cargo +nightly fuzz run --fuzz-dir tests/fuzz "$name" "$directory" -- \
            -max_total_time=60 -artifact_prefix="$root/target/fuzz/$name-" || return
    done
}

mutants() {
    cargo mutants --version || cargo install --locked cargo-mutants --root target/tools || return
    PATH=$root/target/tools/bin:$PATH cargo mutants --package idgate-core --output target \
        --file 'idgate-core/src/verify/**' --file 'idgate-core/src/formats/**' \
        --file 'idgate-core/src/request/**' --file 'idgate-core/src/response/dcql.rs' \
        --file 'idgate-core/src/jose/x5c.rs' --file 'idgate-core/src/trust/verifier_certificate.rs' \
        -- --release
}

# What compiles: beside it runs what waits most of the time, and has the processor when it wants it.
compiled() {
    renice -n 19 -p "$BASHPID" >/dev/null || true
    step 'core with each back end alone, and none' core_alone || true
    step 'server without demo and sandbox' server_without_sandbox || true
    step_if has_wasm 'not installed, and rustup cannot install it' \
        'core for wasm32-unknown-unknown' core_for_wasm
    step_if has_other_systems 'rustup cannot add the targets (log: other-systems.log)' \
        'library and C ABI for Windows and macOS' library_elsewhere
    step 'documentation' documentation || true
    step_if find_mdbook 'cargo could not install mdbook (log: mdbook.log)' \
        'site of the pages, and its links' site
    if has_openssl; then
        step 'interop: sd-jwt-rs, isomdl, certval, josekit, ssi' interop josekit || true
    else
        skip 'interop: josekit' 'no headers of OpenSSL (log: packages.log)'
        step 'interop: sd-jwt-rs, isomdl, certval, ssi' interop '' || true
    fi
}

# The program and the library that were built, with wallets, clients and browsers: no cargo here.
driven() {
    step 'demo, start to end' "$idgate" demo --once || true
    step 'wallets: @sd-jwt, @owf/mdoc, @auth0/mdl (Node)' node_wallet || true
    step 'wallet: Credo (Node)' credo_wallet || true
    step 'wallets: sd-jwt, pymdoccbor (Python)' python_wallet || true
    local why_no_jvm
    why_no_jvm=$(python3 tests/wallets/jvm/jdk.py)
    if [ -z "$why_no_jvm" ]; then
        step 'wallet: Multipaz (JVM)' jvm_wallet || true
    else
        skip 'wallet: Multipaz (JVM)' "$why_no_jvm"
    fi
    step 'interface description: OpenAPI, schemathesis' interface_description || true
    step 'generated clients: Python, TypeScript, Go, Java' generated_clients || true
    step_if 'command -v nginx' 'not installed; root can install nginx (log: packages.log)' \
        'nginx in front, as the example has it' in_front nginx
    step_if 'command -v caddy' 'not installed; root can install caddy (log: packages.log)' \
        'Caddy in front, as the example has it' in_front caddy
    if [ -n "$CHROMIUM" ]; then
        step 'sample shop in Chromium' shop || true
        step 'pages for people and of the sandbox in Chromium' page || true
    else
        skip 'sample shop in Chromium' 'no Chromium (log: packages.log); the rest of its tests runs'
        skip 'pages for people and of the sandbox in Chromium' 'no Chromium; root can install it (log: packages.log)'
        step 'sample shop without a browser' shop || true
    fi
    step_if has_firefox 'no Firefox; root can install it (log: packages.log)' \
        'page for people in Firefox' page_in_firefox
    step 'bindings: Node' node_binding || true
}

step 'tools' toolchain || true
beside install_packages
step 'fetch dependencies' fetch || true
step 'format' format || true
step 'lints' cargo clippy --release --workspace --all-targets --locked -- -D warnings || true

# `--all-targets` settles the features as the tests need them: none of them is compiled a second time.
# The steps below that build a part alone, as the Python package, compile what they need of it.
if step 'build' cargo build --release --workspace --all-targets --locked; then
    built=yes
    # As it was built with everything else: the Python package puts its own in the same place.
    mkdir -p target/tested && cp --remove-destination target/release/libidgate_ffi.so target/tested/
else
    built=no
fi

wait_for_it || true # what is missing is said below
CHROMIUM=$(chromium_path)
command -v promtool >/dev/null && command -v systemd-analyze >/dev/null ||
    skip 'alert rules, dashboard, systemd unit' 'no promtool or systemd-analyze (log: packages.log)'
step 'licences, banned crates, sources' dependency_rules || true
step 'webhook receivers (Python, Node)' webhook_receivers || true
step 'schemas of the deployment files' deployment_schemas || true

if [ "$built" = yes ]; then
    [ -d "$IDGATE_VECTORS" ] ||
        skip 'third-party test data' "no directory $IDGATE_VECTORS (set IDGATE_VECTORS)"
    # Also among the Rust tests: the conformance of the store, and gateways that share it.
    command -v nginx >/dev/null ||
        skip 'gateways replaced behind nginx' 'not installed; root can install nginx (log: packages.log)'
    # What is measured has the machine for itself: in the caches that others fill, twice the bytes cost more than twice.
    step 'costs of hostile input' env RUST_TEST_THREADS=1 \
        cargo test --release --workspace --locked --lib -- hostile::cost:: || true
    # Most of them wait most of the time: two at a time on each core.
    step 'Rust tests' env RUST_TEST_THREADS=$((2 * $(nproc))) \
        cargo test --release --workspace --locked --no-fail-fast -- --skip hostile::cost:: || true
    step_if has_postgresql 'not installed; root can install it (log: packages.log)' \
        'HTTP on PostgreSQL' on_postgresql wallet_flow:: offers_http:: http_rules:: \
        idempotency:: dc_api_http:: race::
    step 'archives, .deb, image' packagers || true
else
    for name in 'costs of hostile input' 'Rust tests' 'HTTP on PostgreSQL' 'archives, .deb, image' 'demo, start to end' 'wallets' \
        'interface description and generated clients' 'nginx and Caddy in front' 'sample shop and pages' \
        'bindings: Node' 'examples of the site'; do
        skip "$name" 'the build failed'
    done
fi

step 'bindings: the Python package' python_package || true
beside compiled
[ "$built" = no ] || driven
step 'bindings: Python' python_binding || true
[ "$built" = no ] || step 'examples of the site' examples_of_the_site test_snippets || true
if ! wait_for_it; then
    echo failed >>"$results"
    echo 'What compiles beside the others broke off: not all of its steps are above'
fi

command -v minisign >/dev/null ||
    skip 'signature of a release' 'not installed; root can install it (log: packages.log)'
step 'packages, bills of materials, sums' release_packages || true

if [ "$long" = yes ]; then
    step 'audit log of 1 000 000 entries' env IDGATE_LONG=1 cargo test --release --locked \
        -p idgate-server --lib a_long_chain_is_verified_in_time || true
    step 'many more kills, long mutation' long_forms || true
    step_if 'command -v valgrind' 'valgrind is not installed' \
        'C ABI under valgrind' env IDGATE_LONG=1 cargo test --release --locked -p idgate-ffi valgrind
    step_if find_miri 'no nightly compiler with miri (log: miri.log)' 'C ABI under Miri' c_abi_under_miri
    if [ "$built" = no ]; then
        skip 'a whole release, installed' 'the build failed'
    elif [ -n "$(git status --porcelain --untracked-files=no)" ]; then
        skip 'a whole release, installed' 'a release is made of a commit, and the clone has changes'
    elif has_release_targets; then
        command -v debootstrap >/dev/null ||
            skip 'a .deb in a root of Debian' 'not installed; root can install debootstrap'
        step 'a whole release, installed' whole_release || true
    else
        skip 'a whole release, installed' 'rustup cannot add the targets (log: release-targets.log)'
    fi
    step 'first program in Rust, built anew' first_program_in_rust || true
    step 'debug-profile tests' cargo test --workspace --locked || true
    ! has_postgresql ||
        step 'all HTTP on PostgreSQL' on_postgresql || true
    step_if 'command -v rustup' 'rustup is not installed' "minimum Rust version, $minimum_rust" minimum_version
    step 'a million peers' env IDGATE_LONG=1 cargo test --release -p idgate-it --locked \
        rate_limits:: || true
    step_if find_advisories 'no cargo-deny, or its database cannot be fetched (log: cargo-deny.log)' \
        'advisories' advisories
    released=$(last_release)
    if [ -n "$released" ]; then
        step "changes of the interface since $released" changes_of_the_interface "$released" || true
    else
        skip 'changes of the interface' 'nothing is released yet: no tag vVERSION'
    fi
    step_if 'cargo +nightly --version' 'no nightly compiler (rustup toolchain install nightly)' 'fuzzing' fuzzing
    step 'mutants of verify/, formats/, request/ and what reads certificates' mutants || true
fi

echo "logs: target/test-logs/   time: ${SECONDS} s"
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" -eq 0 ]
