# The gate and its parts. `just check` is what CI runs.
# Everything is built in the release profile and in one target directory, so that nothing is built
# twice.

set shell := ["bash", "-euo", "pipefail", "-c"]

# List the recipes.
default:
    @just --list --unsorted

# Everything that must hold before a change is pushed.
check: fmt clippy deny tidy python docs test

# The formatting, checked; `cargo fmt --all` mends it.
fmt:
    cargo fmt --all --check

# Lints on all targets, warnings denied.
clippy:
    cargo clippy --workspace --all-targets --release -- -D warnings

# What comes from outside: licences, banned crates, sources.
deny:
    cargo xtask deny

# Crate arrows, module docs, file lengths, changelog, generated files, links.
tidy:
    cargo xtask tidy

# Lints, formatting and types of the Python package and of the half that runs in jars.
python:
    tests/python

# The API documentation, warnings denied, and the examples in it.
docs:
    RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --release
    cargo test --workspace --release --doc --quiet

# The program and the libraries.
build:
    cargo build --workspace --release

# All tests: as root, as an ordinary user, in nested walls, and of the Python package.
test: build
    tests/run

# The Python package as its users get it: the wheel in a fresh environment.
sdk: build
    tests/run sdk sdk-user

# Honest programs in jars: the first tier; `tests/programs --all` runs everything.
programs: build
    tests/programs

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
