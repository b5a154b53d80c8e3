//! The suite: claims about belljar, shown on a real kernel with a real CPython.
//!
//! The environment chooses the setting: `BELLJAR_TEST_WALLS` (`full` or `nested`),
//! `BELLJAR_TEST_PYTHON` (an interpreter, default `python3`), `BELLJAR_TEST_VENV` (a venv with
//! numpy, pandas and matplotlib), `BELLJAR_TEST_PYTHONS` (more interpreters, separated by colons),
//! `BELLJAR_TEST_PROGRAM` (a `belljar` other than the one just built), `BELLJAR_TEST_DOCS` (the
//! folder `docs`, where the repository cannot be read).
//! A test that needs something missing says so in its output, with the word `SKIPPED`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

mod command;
mod confidentiality;
mod conformance;
mod denials;
mod fail_closed;
mod frames;
mod guard;
mod lifecycle;
mod limits;
mod phases;
mod pipe;
mod posture;
mod pressure;
mod pythons;
mod real_work;
mod runs;
mod standing;
mod support;
mod tools;
