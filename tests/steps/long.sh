# The checks that take hours: the steps that `tests/run.sh --long` adds to those of --all.

# The targets that a release is linked for, on both processors.
has_release_targets() {
    local target
    for target in {x86_64,aarch64}-unknown-linux-{gnu,musl}; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] ||
            rustup target add "$target" >>"$logs/release-targets.log" 2>&1 || return 1
    done
}

# Builds a release, then installs and tests it.
whole_release() {
    local venv=$root/target/venv-release out=$root/target/release-tested
    python_with venv-release tests/release/requirements.txt &&
        release/build.sh "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" --out "$out" &&
        cd tests/release && IDGATE_LONG=1 IDGATE_BIN=$root/target/release/idgate IDGATE_RELEASE=$out "$venv/bin/python" -m unittest -v
}

# The everyday tier does the same on a small scale: 200 kills under load in each profile, 200 more while webhooks are due,
# 200 of nodes that share a database, and commands killed at each of their writes.
long_forms() {
    IDGATE_LONG=1 cargo test --release --locked -p idgate-it -- --include-ignored crash mutat postgres:: reseal:: copying::
}

minimum_rust() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml
}

minimum_version() {
    rustup toolchain install "$(minimum_rust)" --profile minimal &&
        cargo "+$(minimum_rust)" check --locked --workspace --target-dir target/minimum-rust
}

# Fetches the RustSec database from its source. docs/supply-chain.md says what to do where that is impossible.
find_advisories() {
    PATH=$root/target/tools/bin:$PATH
    { { cargo deny --version || cargo install --locked cargo-deny --root target/tools; } &&
        timeout 120 cargo deny fetch db; } >"$logs/cargo-deny.log" 2>&1 </dev/null
}

advisories() {
    PATH=$root/target/tools/bin:$PATH
    cargo deny --all-features --locked check
}

# The previous release, or nothing.
last_release() {
    git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true
}

# Compares the published crates with the previous release: a breaking change needs the right version.
changes_of_the_interface() {
    local tag name features
    tag=$(last_release)
    PATH=$root/target/tools/bin:$PATH
    cargo semver-checks --version || cargo install --locked cargo-semver-checks --root target/tools || return
    for name in idgate-core idgate idgate-ffi; do
        # `internals` is only for this repository.
        features=()
        [ "$name" != idgate-core ] || features=(--features rustcrypto,aws-lc-rs,os-entropy)
        cargo semver-checks --package "$name" --baseline-rev "$tag" --only-explicit-features "${features[@]}" ||
            return
    done
}

find_miri() {
    cargo +nightly miri --version >/dev/null 2>&1 ||
        rustup component add miri rust-src --toolchain nightly >"$logs/miri.log" 2>&1
}

# Miri checks each access to memory. It runs no C, so the provider in Rust verifies signatures, which takes minutes each:
# tests with many signatures are skipped. A name without a test is a failure.
c_abi_under_miri() {
    local miri=(cargo +nightly miri test --locked --target-dir target/miri -p idgate-ffi)
    export MIRIFLAGS=-Zmiri-disable-isolation
    "${miri[@]}" --lib -- --skip trust::tests:: &&
        "${miri[@]}" --test presentation -- an_sd_jwt_vc_is_verified |
        awk '{ print } /^test result: ok\. 1 passed/ { ran = 1 } END { exit !ran }'
}

# The findings of a target stay below target/fuzz/.
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

first_program_in_rust() {
    IDGATE_LONG=1 examples_of_the_site test_snippets.SnippetsTest.test_rust
}

# A release is built from a commit.
is_committed() {
    [ -z "$(git status --porcelain --untracked-files=no)" ]
}

can_release() {
    is_committed && has_release_targets
}

long_chain() {
    IDGATE_LONG=1 cargo test --release --locked -p idgate-store --lib a_long_chain_is_verified_in_time
}

under_valgrind() {
    IDGATE_LONG=1 cargo test --release --locked -p idgate-ffi valgrind
}

million_peers() {
    IDGATE_LONG=1 cargo test --release --locked -p idgate-it -- --include-ignored rate_limits::
}

# The program that users get: optimized, and without the assertions of the profile `tested`.
rust_tests_of_a_release() {
    cargo build --release --workspace --all-targets --locked &&
        RUST_TEST_THREADS=$((2 * $(nproc))) cargo test --release --workspace --locked --no-fail-fast -- --include-ignored
}

long 'Rust tests in the release profile' rust_tests_of_a_release
long 'audit log of 1 000 000 entries' long_chain
long 'many more kills, long mutation' long_forms
after 'Rust tests in the release profile'
long 'C ABI under valgrind' under_valgrind
only_with 'command -v valgrind' 'valgrind is not installed'
long 'C ABI under Miri' c_abi_under_miri
only_with find_miri 'no nightly compiler with miri (log: miri.log)'
long 'a whole release, installed' whole_release
after 'build as a release'
partly_with 'command -v debootstrap' 'a .deb in a root of Debian' 'not installed; root can install debootstrap'
only_with can_release 'the clone has changes, or rustup cannot add the targets (log: release-targets.log)'
long 'first program in Rust, built from nothing' first_program_in_rust
long 'debug-profile tests' cargo test --workspace --locked
long 'all HTTP on PostgreSQL' on_postgresql
only_with has_postgresql 'not installed; root can install it (log: packages.log)'
long "minimum Rust version" minimum_version
only_with 'command -v rustup' 'rustup is not installed'
long 'a million peers' million_peers
after 'Rust tests in the release profile'
long 'advisories' advisories
only_with find_advisories 'no cargo-deny, or its database cannot be fetched (log: cargo-deny.log)'
long 'changes of the interface' changes_of_the_interface
only_with '[ -n "$(last_release)" ]' 'nothing is released yet: no tag vVERSION'
long 'fuzzing' fuzzing
only_with 'cargo +nightly --version' 'no nightly compiler (rustup toolchain install nightly)'
long 'mutants of verify/, formats/, request/ and the readers of certificates' mutants
