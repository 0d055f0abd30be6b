# The checks that every change must pass: the steps of `tests/run.sh`, and the functions that all steps share. Lints, build
# and tests share the profile `tested`.

# The missing Debian packages for the selected tier.
wanted_packages() {
    has_postgresql || echo postgresql
    [ "$mode" != everyday ] || return 0
    command -v promtool >/dev/null || echo prometheus
    command -v systemd-analyze >/dev/null || echo systemd
    command -v nginx >/dev/null || echo nginx
    command -v caddy >/dev/null || echo caddy
    command -v minisign >/dev/null || echo minisign
    command -v valgrind >/dev/null || echo valgrind
    command -v xmlsec1 >/dev/null || echo xmlsec1
    # One peer links OpenSSL.
    has_openssl || echo libssl-dev pkg-config
    [ -n "$(chromium_path)" ] || echo chromium
    has_firefox || echo firefox-esr
    # For a root that contains only Debian.
    [ "$mode" != long ] || command -v debootstrap >/dev/null || echo debootstrap
}

# Starts no servers (RUNLEVEL). Installs packages one by one, so that an unavailable one does not prevent the others.
install_packages() {
    local packages package
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get; then
        echo 'packages are installed only as root, with apt-get'
        return
    fi
    packages=$(wanted_packages)
    [ -n "$packages" ] || return 0
    timeout 120 apt-get update || return 0
    for package in $packages; do
        # The limit for a mirror that hangs.
        [ "$SECONDS" -lt 1200 ] || break
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive timeout 600 \
            apt-get install -y --no-install-recommends "$package" || true
    done
}

# The places where the tests look for it.
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

has_chromium() {
    [ -n "$(chromium_path)" ]
}

has_firefox() {
    [ -n "$(firefox_path)" ]
}

# `set -e` has no effect in a step: each function stops at its first failure by `&&` or `return`.
toolchain() {
    rustc --version && cargo --version && cc --version && node --version && npm --version &&
        python3 --version || return
    cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy
}

# Fetches the crates and the Debian packages in parallel.
fetch() {
    local status=0
    install_packages >"$logs/packages.log" 2>&1 &
    cargo fetch --locked || status=$?
    wait
    return "$status"
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

webhook_receivers() {
    (cd examples/webhooks && python3 -m unittest -v) &&
        node --test examples/webhooks/verify.test.mjs
}

# `--all-targets` selects the features that the tests need, so that no crate is compiled twice.
build() {
    cargo build --profile tested --workspace --all-targets --locked
}

lints() {
    cargo clippy --profile tested --workspace --all-targets --locked -- -D warnings
}

# The library without a provider, and the program for production: no sample issuers and no sample wallet.
fewest_features() {
    cargo check --profile tested --locked -p idgate-core --no-default-features &&
        cargo clippy --profile tested --locked -p idgate-program -p idgate-server -p idgate-store -p idgate-base \
            --no-default-features -- -D warnings
}

# Most tests wait most of the time, so two run on each core.
rust_tests() {
    RUST_TEST_THREADS=$((2 * $(nproc))) \
        cargo test --profile tested --workspace --locked --no-fail-fast -- "$@"
}

# on_postgresql TEST...: behaviour tests with everything in a database. It names the whole workspace, so that crates keep
# the features of the build.
on_postgresql() {
    IDGATE_TEST_STORE=postgres cargo test --profile tested --locked --workspace --lib -- "$@"
}

documentation() {
    RUSTDOCFLAGS='-D warnings' cargo doc --profile tested --workspace --no-deps --locked
}

modules_of() {
    (cd "$1" && npm ci --no-audit --no-fund)
}

node_wallet() {
    modules_of tests/wallets/node && cd tests/wallets/node && IDGATE_BIN=$idgate npm test
}

# The cases that the Rust tests wrote, and the interface of the package, with the same library.
node_cases() {
    export IDGATE_LIBRARY=$library IDGATE_CASES=$root/target/cases
    modules_of bindings/node && cd bindings/node && npm run types &&
        node --test test/{cases,sessions,trust,requests,options,signers,webhook,wallets,errors,texts,offers,types}.test.js
}

everyday 'tools' toolchain
everyday 'fetch dependencies' fetch
everyday 'format' format
everyday 'licences, banned crates, sources' dependency_rules
everyday 'webhook receivers (Python, Node)' webhook_receivers
everyday 'build' build
everyday 'lints' lints
everyday 'library and program with the fewest features' fewest_features
everyday 'documentation' documentation
everyday 'Rust tests' rust_tests
after 'build'
everyday 'HTTP on PostgreSQL' on_postgresql wallet_flow:: offers_http:: http_rules:: idempotency:: dc_api_http:: race::
after 'build'
only_with has_postgresql 'not installed; root can install it (log: packages.log)'
everyday 'demo, start to end' '"$idgate" demo --once'
after 'build'
everyday 'wallets: @sd-jwt, @owf/mdoc, @auth0/mdl (Node)' node_wallet
after 'build'
everyday 'bindings: cases in Node' node_cases
after 'Rust tests'
