# The gate and its parts. `just check` is what CI runs.
# The program is built in the release profile, everything else in the dev profile, all in
# one target directory, so that nothing is built twice.

set shell := ["bash", "-euo", "pipefail", "-c"]

# List the recipes.
default:
    @just --list --unsorted

# Everything that must hold before a change is pushed.
check: fmt builds lints-and-tests programs notebook mcp schemathesis deploy kernels containers fleet-losses neighbours

# Two profiles have two folders, and one compiler fills the gaps that the other leaves.
[parallel]
[private]
builds: build build-tests

# Lints take what the tests leave of the processors: tests wait more than they compute.
[parallel]
[private]
lints-and-tests: lints test-everywhere

[private]
lints: tidy-and-deny python clippy docs

# With the xtask of build-tests: `cargo xtask` chooses other features for what it shares with the rest, and builds it anew.
[private]
tidy-and-deny:
    CARGO_MANIFEST_DIR="$PWD/xtask" target/debug/xtask tidy
    CARGO_MANIFEST_DIR="$PWD/xtask" target/debug/xtask deny

# The formatting, checked; `cargo fmt --all` mends it.
fmt:
    cargo fmt --all --check

# Lints on all targets, warnings denied.
clippy:
    nice cargo clippy --quiet --workspace --all-targets -- -D warnings

# What comes from outside: licences, banned crates, sources.
deny:
    cargo xtask deny

# Crate arrows, module docs, file lengths, changelog, generated files, links.
tidy:
    cargo xtask tidy

# Lints, formatting and types of the Python package and of the half that runs in jars.
python:
    nice tests/python

# The API documentation, warnings denied, and the examples in it.
docs:
    RUSTDOCFLAGS=-Dwarnings nice cargo doc --quiet --workspace --no-deps
    nice cargo test --workspace --doc --quiet

# The program, as it is shipped.
build:
    cargo build --release --package carboy

# Which packages and targets are chosen decides the features of their dependencies, and other features are another
# build of them. So both choose the whole workspace and tests: the second one all it can do without.
[private]
build-tests:
    cargo build --workspace --bins --tests
    cargo build --workspace --bin carboy --test fixtures --features carboy/ablation
    rm target/debug/carboy  # Not to be taken for a whole one.

# The tests whose names contain NAME, as you, with a build for development; without a name all tests in all settings, which needs root.
test *NAME:
    @{{ if NAME == "" { "just test-everywhere" } else { "tests/some " + NAME } }}

# All tests: as root, as an ordinary user, in nested walls, of the Python package, and with a layer missing.
[private]
test-everywhere: build
    tests/run

# Honest programs in jars: the first tier; `tests/programs --all` runs everything.
programs: build
    tests/programs

# Notebooks with a real Jupyter, whose cells run in a session.
notebook: build
    tests/notebook

# `carboy mcp` with the official client of MCP.
mcp: build
    tests/mcp

# A live server against its OpenAPI document, with requests made from it; `--all` makes more, for some minutes.
schemathesis *OPTIONS: build
    tests/schemathesis {{ OPTIONS }}

# A server at three times what it can do, with hostile clients, a restart and a greedy tenant: three minutes on a machine that does nothing else.
load *OPTIONS: build
    target/release/carboy bench load {{ OPTIONS }}

# Alert rules, dashboard, systemd unit and Kubernetes manifests, each against what it is for; needs root and promtool.
deploy: build
    tests/deploy

# The walls on other kernels, booted in QEMU: those of the gate, or by name; `--all` has every one.
kernels *NAMES: build
    tests/kernels {{ NAMES }}

# Both walls in containers, as Docker and Kubernetes configure them; needs root and runc.
containers: build
    tests/containers

# A Debian package in target/debian; needs cargo-deb.
deb: build
    deploy/deb

# A container image in target/image, tried with runc as Docker would run it; needs root, debootstrap, umoci and runc.
image: build
    deploy/image
    tests/containers --image "target/image/carboy:$(target/release/carboy --version | cut -d' ' -f2)"

# The program on aarch64: cross-built, and booted in QEMU. It needs gcc-aarch64-linux-gnu and qemu-system-arm.
arm *OPTIONS:
    tests/arm {{ OPTIONS }}

# The program and a Rust host, built from the packages of the crates and far from the repository: some minutes.
packages:
    tests/packages

# Hostile programs beside innocent runs, which must not be late: for a machine that does nothing else.
neighbours: build
    tests/run neighbours

# Every hostile program inside a session and inside a branch of one: about three minutes.
drill-sessions *OPTIONS: build
    for place in session branch; do target/release/carboy drill --inside $place {{ OPTIONS }}; done

# The Python package as its users get it: the wheel in a fresh environment.
sdk: build
    tests/run sdk sdk-user

# Fleets of 1 to 1,000 nodes in simulated time, placed by the code that gateways will use: some minutes.
simulate *OPTIONS:
    cargo run --quiet --release --package carboy-fleet --example simulate -- {{ OPTIONS }}

# What a fleet may lose without losing a run: workers, and brokers; about 30 s.
[private]
fleet-losses: build
    tests/fleet --gate

# A real fleet with real faults: every case, or some of T1 to T21 by name, as in `just fleet T1 T5 --runs 10000 --times`; needs root.
fleet *CASES: build
    tests/fleet {{ CASES }}

# What a gateway and a broker add to a run, beside one server: a minute on a machine that does nothing else; needs nats-server in PATH, or `--broker PATH`.
bench-fleet *OPTIONS: build
    target/release/carboy bench fleet {{ OPTIONS }}

# The pictures in docs/pictures, drawn anew; needs chromium-headless-shell, and pandas and matplotlib in CARBOY_TEST_PYTHON.
picture: build
    docs/pictures/make

# The artifact store on object storage, and on a real S3 server. Not in the gate: it builds an HTTP client.
objects:
    tests/objects

# 200 sessions with random work, for ten minutes: the engine grows by nothing that is not theirs.
soak-sessions:
    ulimit -n 16384 && CARBOY_TEST_SESSIONS=200 CARBOY_TEST_SESSION_SECONDS=600 \
        cargo test --package carboy --test suite -- --exact --nocapture \
        session_soak::sessions_with_random_work_grow_by_nothing_that_is_not_theirs

# A bounded time of fuzzing all that reads bytes it was given; needs cargo-fuzz and a nightly toolchain.
fuzz:
    #!/usr/bin/env bash
    set -euo pipefail
    if ! command -v cargo-fuzz >/dev/null; then
        echo "fuzz: skipped, cargo-fuzz is not installed (cargo install --locked cargo-fuzz)"
    elif ! cargo +nightly --version >/dev/null 2>&1; then
        echo "fuzz: skipped, there is no nightly toolchain (rustup toolchain install nightly)"
    else
        for target in frame policy profile guard; do
            cargo +nightly fuzz run "$target" -- -max_total_time=10 -verbosity=0
        done
    fi
