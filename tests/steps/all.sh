# The checks that a release needs in addition: the steps of `tests/run.sh --all`, each with the paths that it depends on.

# Most of them depend on the program, on the library, or on how both are built.
library_paths='idgate-core idgate idgate-ffi Cargo.'
program_paths="$library_paths idgate-server .cargo"
wallet_paths="$program_paths tests/testkit tests/wallets tests/harness tests/openapi/sandbox.py"
page_paths="idgate-server/src/http idgate-server/src/app/page idgate-server/sandbox/src tests/page tests/wallets/node tests/harness"

# Runs with a virtual environment of this name that has only the packages of a file.
python_with() {
    python3 -m venv "$root/target/$1" &&
        "$root/target/$1/bin/pip" install --quiet --requirement "$2"
}

# Builds everything for measurements, packages and examples with the release profile.
release_build() {
    cargo build --release --locked -p idgate-program -p idgate-ffi -p idgate-bench -p idgate-examples
}

# Checks that a program without the sandbox has none of its texts, so no issuer. The program with it has all of them.
no_sandbox_inside() {
    local word without="$root/target/without-sandbox"
    cargo build --profile tested --locked -p idgate-program --no-default-features --target-dir "$without" || return
    for word in openid-credential-offer openid4vci-proof pre-authorized_code idgate_sandbox; do
        if grep --quiet --text "$word" "$without/tested/idgate" || ! grep --quiet --text "$word" "$idgate"; then
            echo "$word is in the program without the sandbox, or missing in the one with it"
            return 1
        fi
    done
}

core_alone() {
    local features
    for features in rustcrypto aws-lc-rs rustcrypto,os-entropy; do
        cargo check --profile tested --locked -p idgate-core --no-default-features \
            --features "$features" || return
    done
}

# A target without an operating system: it has no files, no clock and no random source to fall back on.
core_for_wasm() {
    local features
    for features in '' rustcrypto; do
        cargo check --profile tested --locked -p idgate-core --target wasm32-unknown-unknown \
            --no-default-features --features "$features" || return
    done
}

has_wasm() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib" ] ||
        rustup target add wasm32-unknown-unknown >"$logs/wasm.log" 2>&1
}

# For embedders on other systems, with the tools of a release: zig is a C compiler for every system. The objects are
# not linked, so the check needs no optimization.
other_systems=(x86_64-pc-windows-gnu aarch64-apple-darwin)
library_elsewhere() {
    local target
    . release/tools.sh
    for target in "${other_systems[@]}"; do
        env "CFLAGS_${target//-/_}=-O0" cargo-zigbuild clippy --profile tested --locked --target "$target" \
            -p idgate-core -p idgate -p idgate-ffi -- -D warnings || return
    done
}

has_other_systems() {
    local target
    for target in "${other_systems[@]}"; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] ||
            rustup target add "$target" >>"$logs/other-systems.log" 2>&1 || return 1
    done
}

# mdBook without server and search, which are not needed.
find_mdbook() {
    local version=0.5.4
    PATH=$root/target/tools/bin:$PATH
    [ "$(mdbook --version 2>/dev/null)" = "mdbook v$version" ] || cargo install --locked mdbook \
        --version "$version" --no-default-features --root target/tools >"$logs/mdbook.log" 2>&1 </dev/null
}

site() {
    PATH=$root/target/tools/bin:$PATH
    rm -rf target/book && mdbook build docs && python3 tests/docs/links.py target/book &&
        cd tests/docs && python3 -m unittest -v test_site
}

has_nightly() { cargo +nightly --version >/dev/null 2>&1; }

# interop: includes the peer that links OpenSSL if its headers are installed.
interop() {
    local features=''
    ! has_openssl || features=josekit
    cargo fetch --locked --manifest-path tests/interop/Cargo.toml &&
        cargo clippy --release --manifest-path tests/interop/Cargo.toml --all-targets --locked \
            --features "$features" -- -D warnings &&
        cargo test --release --manifest-path tests/interop/Cargo.toml --locked --features "$features"
}

# Runs in a separate network if possible, so that the ports on the pages are free. A new build needs the registry.
examples_of_the_site() {
    local own=()
    [ -n "${IDGATE_LONG:-}" ] || ! unshare -rn true || own=(unshare -rn)
    export IDGATE_PYTHON=$root/target/venv-bindings/bin/python
    cd tests/docs && "${own[@]}" python3 -m unittest -v "$@"
}

credo_wallet() {
    modules_of tests/wallets/node && modules_of tests/wallets/credo &&
        cd tests/wallets/credo && IDGATE_BIN=$idgate npm test
}

python_wallet() {
    python_with venv-wallets tests/wallets/python/requirements.txt &&
        cd tests/wallets/python && IDGATE_BIN=$idgate "$root/target/venv-wallets/bin/python" -m unittest -v
}

jvm_wallet() {
    python_with venv-wallets tests/wallets/python/requirements.txt &&
        cd tests/wallets/jvm && IDGATE_BIN=$idgate "$root/target/venv-wallets/bin/python" -m unittest -v
}

has_jvm() {
    [ -z "$(python3 tests/wallets/jvm/jdk.py)" ]
}

go_wallet() {
    python_with venv-wallets tests/wallets/python/requirements.txt &&
        cd tests/wallets/go && IDGATE_BIN=$idgate "$root/target/venv-wallets/bin/python" -m unittest -v
}

has_go() {
    [ -z "$(python3 tests/wallets/go/irmago.py)" ]
}

# Gives the lists to the library of the Commission, without a network if possible. A filter that selects no test fails.
lists_by_dss() {
    local own=() work=$root/target/lists-dss
    local copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
    rm -rf "$work/libraries" "$work/classes"
    mvn -q -B "-Dmaven.repo.local=$work/maven" -f tests/lists/dss/pom.xml "$copy" \
        "-DoutputDirectory=$work/libraries" -DincludeScope=runtime &&
        javac -Xlint:all -Werror --release 11 -cp "$work/libraries/*" -d "$work/classes" tests/lists/dss/*.java || return
    ! unshare -rn true || own=(unshare -rn)
    IDGATE_DSS="$work/classes:$work/libraries/*" "${own[@]}" cargo test --profile tested --workspace --lib --locked \
        --offline -- --ignored eu_dss | tee "$work/tests.log" &&
        grep -q '^test .* ok$' "$work/tests.log"
}

# An old javac does not know the option or the release.
has_maven() {
    command -v mvn && javac --release 11 --version
}

# The packagers of the program and of the C library. 'packages, bills of materials, sums' tests the others.
packagers() {
    cd tests/release && IDGATE_BIN=$root/target/release/idgate \
        python3 -m unittest -v test_program test_deb test_image test_c_archive
}

# Validates deployment files that cannot run here against the schemas of their kinds.
deployment_schemas() {
    local venv=$root/target/venv-deploy
    python_with venv-deploy tests/deploy/requirements.txt &&
        "$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec \
            examples/deploy/compose-postgres.yml &&
        "$venv/bin/kubernetes-validate" --strict examples/deploy/kubernetes.yml &&
        "$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
}

# in_front PROXY: the tests of its file in examples/deploy/.
in_front() {
    cd tests/front && IDGATE_BIN=$idgate python3 -m unittest -v "test_$1"
}

# Without a browser, the other tests run.
shop() {
    modules_of tests/wallets/node && modules_of tests/page && modules_of examples/shop && cd tests/shop &&
        IDGATE_BIN=$idgate CHROMIUM=$(chromium_path) npm test
}

page() {
    modules_of tests/wallets/node && modules_of tests/page && cd tests/page &&
        IDGATE_BIN=$idgate CHROMIUM=$(chromium_path) npm test
}

page_in_firefox() {
    modules_of tests/wallets/node && modules_of tests/page && cd tests/page &&
        IDGATE_BIN=$idgate FIREFOX=$(firefox_path) npm run firefox
}

python_package() {
    local venv=$root/target/venv-bindings
    python_with venv-bindings bindings/python/requirements-test.txt &&
        rm -rf target/wheels && MATURIN_PEP517_ARGS=--locked "$venv/bin/pip" wheel --quiet --wheel-dir target/wheels ./bindings/python &&
        "$venv/bin/pip" install --quiet --force-reinstall --no-deps target/wheels/idgate-*.whl &&
        cd bindings/python && "$venv/bin/mypy" src
}

python_binding() {
    local venv=$root/target/venv-bindings
    (cd bindings/python/tests &&
        IDGATE_CASES=$root/target/cases "$venv/bin/python" -m unittest -v) && drivers_of_the_examples &&
        IDGATE_PYTHON=$venv/bin/python node --test --test-name-pattern=fastapi bindings/node/test/age_page.test.js
}

# A wallet, and a browser if there is one, use the examples of the bindings.
drivers_of_the_examples() {
    export CHROMIUM
    CHROMIUM=$(chromium_path)
    modules_of tests/wallets/node && modules_of tests/page
}

# The tests of the package, in the clone and in another project that installed it.
node_binding() {
    local project=$root/target/npm-project
    export IDGATE_LIBRARY=$library IDGATE_CASES=$root/target/cases
    drivers_of_the_examples || return
    # Bun and Deno. Without them their tests report that they are skipped.
    modules_of bindings/node/test/runtimes || true
    modules_of bindings/node || return
    (cd bindings/node && node --test test/*.test.js) || return
    rm -rf "$project" && mkdir "$project" && cd "$project" && npm init --yes >/dev/null &&
        npm install --no-audit --no-fund "$root/bindings/node" &&
        cp "$root"/bindings/node/test/{cases.js,cases.test.js,sessions.test.js,trust.test.js,offers.test.js,browsers.test.js,fetching.test.js,status_wallet.js} . &&
        node --test ./*.test.js
}

# The parts of a release on a small scale, with the library and the wheel of this run. With IDGATE_RELEASE, the folder of a
# whole release, its artefacts are installed and tested instead.
release_packages() {
    python_with venv-release tests/release/requirements.txt && cd tests/release &&
        "$root/target/venv-release/bin/python" -m unittest -v test_wheel test_npm test_crates test_sbom test_sign
}

interface_description() {
    python_with venv-openapi tests/openapi/requirements.txt && cd tests/openapi &&
        IDGATE_BIN=$idgate "$root/target/venv-openapi/bin/python" -m unittest -v test_description
}

# A generator is skipped with a message in the log if its tools (Maven, a JDK, Go) are missing or it cannot be installed.
generated_clients() {
    python_with venv-clients tests/openapi/requirements-clients.txt && cd tests/openapi &&
        IDGATE_BIN=$idgate "$root/target/venv-clients/bin/python" -m unittest -v test_clients
}

has_alert_tools() {
    command -v promtool && command -v systemd-analyze
}

# Checks of the everyday tier that need a tool.
checks_with_tools() {
    cd tests/check && python3 -m unittest -v test_deploy
}

wider 'build as a release' release_build
on "$program_paths benches examples/Cargo.toml examples/src"
wider 'Rust tests that take long' rust_tests --ignored
after 'build'
alone
partly_with 'command -v nginx' 'gateways replaced behind nginx' 'not installed; root can install nginx (log: packages.log)'
partly_with 'command -v xmlsec1' 'lists in XML, read by xmlsec1' 'not installed; root can install xmlsec1 (log: packages.log)'
partly_with 'command -v valgrind' 'instructions of hostile input' 'not installed; root can install valgrind (log: packages.log)'
on "$library_paths idgate-server tests/it/src tests/testkit"
wider 'the Python package' python_package
on "$library_paths bindings/python"

wider 'core with each back end alone' core_alone
on "$library_paths"
beside
wider 'core for wasm32-unknown-unknown' core_for_wasm
on "$library_paths"
only_with has_wasm 'not installed, and rustup cannot install it'
beside
wider 'library and C ABI for Windows and macOS' library_elsewhere
on "$library_paths release"
only_with has_other_systems 'rustup cannot add the targets (log: other-systems.log)'
beside
wider 'site of the pages, and its links' site
on 'docs tests/docs README.md CHANGELOG.md'
only_with find_mdbook 'cargo could not install mdbook (log: mdbook.log)'
beside
wider 'programs outside the workspace' python3 tests/outside/run.py
on "$library_paths examples tests/outside tests/testkit"
beside
wider 'items of the library in rustdoc' python3 tests/outside/items.py
on "$library_paths tests/outside"
only_with has_nightly 'no nightly compiler; rustup toolchain install nightly'
beside
wider 'interop: sd-jwt-rs, isomdl, certval, josekit, ssi' interop
on "$library_paths tests/interop tests/testkit"
partly_with has_openssl 'interop: josekit' 'no headers of OpenSSL (log: packages.log)'
beside

wider 'alert rules, dashboard, systemd unit' checks_with_tools
on 'examples/deploy tests/check idgate-server/src'
only_with has_alert_tools 'no promtool or systemd-analyze (log: packages.log)'
wider 'schemas of the deployment files' deployment_schemas
on 'examples/deploy .github tests/deploy'
wider 'archives, .deb, image' packagers
after 'build as a release'
on 'release tests/release examples/deploy Cargo.'
wider 'program without the sandbox' no_sandbox_inside
after 'build'
on "$program_paths"
wider 'wallet: Credo (Node)' credo_wallet
after 'build'
on "$wallet_paths"
wider 'wallets: sd-jwt, pymdoccbor (Python)' python_wallet
after 'build'
on "$wallet_paths"
wider 'wallets: Multipaz, EUDI (JVM)' jvm_wallet
after 'build'
on "$wallet_paths"
only_with has_jvm 'no JDK or Maven: see tests/wallets/jvm/jdk.py'
wider 'lists in XML, read by EU DSS' lists_by_dss
after 'build'
on "$library_paths idgate-server/xml-list tests/lists tests/testkit"
only_with has_maven 'no Maven, or no JDK 11 or newer'
wider 'wallet: irmago (Go)' go_wallet
after 'build'
on "$wallet_paths"
only_with has_go 'no Go, or an old one: see tests/wallets/go/irmago.py'
wider 'interface description: OpenAPI, schemathesis' interface_description
after 'build'
on 'idgate-server/openapi.yaml idgate-server/build idgate-server/src/http tests/openapi'
wider 'generated clients: Python, TypeScript, Go, Rust, Java' generated_clients
after 'build'
on 'idgate-server/openapi.yaml idgate-server/build examples/clients tests/openapi'
wider 'nginx in front, with the example file' in_front nginx
after 'build'
on 'examples/deploy tests/front tests/harness idgate-server/src/http'
only_with 'command -v nginx' 'not installed; root can install nginx (log: packages.log)'
wider 'Caddy in front, with the example file' in_front caddy
after 'build'
on 'examples/deploy tests/front tests/harness idgate-server/src/http'
only_with 'command -v caddy' 'not installed; root can install caddy (log: packages.log)'
wider 'sample shop' shop
after 'build'
partly_with has_chromium 'sample shop in Chromium' 'no Chromium; root can install it (log: packages.log)'
on "examples/shop tests/shop $page_paths"
wider 'pages for people and of the sandbox in Chromium' page
after 'build'
on "$page_paths"
only_with has_chromium 'no Chromium; root can install it (log: packages.log)'
wider 'page for people in Firefox' page_in_firefox
after 'build'
on "$page_paths"
only_with has_firefox 'no Firefox; root can install it (log: packages.log)'
wider 'bindings: Node' node_binding
after 'Rust tests'
on "$library_paths bindings/node tests/harness tests/it/cases"
wider 'bindings: Python' python_binding
after 'the Python package' 'Rust tests'
on "$library_paths bindings/python tests/harness tests/it/cases"
wider 'examples of the site' examples_of_the_site test_snippets
after 'build as a release' 'the Python package'
on "docs README.md tests/docs tests/harness examples idgate-server/openapi.yaml idgate-server/build"
wider 'packages, bills of materials, sums' release_packages
after 'build as a release' 'the Python package'
partly_with 'command -v minisign' 'signature of a release' 'not installed; root can install minisign (log: packages.log)'
on "release tests/release bindings Cargo."
