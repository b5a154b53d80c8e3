//! The suite: claims about carboy, shown on a real kernel with a real CPython.
//!
//! The environment chooses the setting: `CARBOY_TEST_WALLS` (`full` or `nested`),
//! `CARBOY_TEST_PYTHON` (an interpreter, default `python3`), `CARBOY_TEST_VENV` (a venv with
//! numpy, pandas and matplotlib), `CARBOY_TEST_PYTHONS` (more interpreters, separated by colons),
//! `CARBOY_TEST_PROGRAM` (a `carboy` other than the one just built), `CARBOY_TEST_FIXTURES`
//! (the fixtures of the guard, where the repository cannot be read), `CARBOY_TEST_SETTING` (which setting
//! of tests/run this is: tests that would say the same in several run in one), `CARBOY_TEST_FONTS` (a folder
//! with a font that has Chinese letters).
//! A test that needs something missing says so in its output, with the word `SKIPPED`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

mod artifacts;
mod budget;
mod causes;
mod children;
mod command;
mod confidentiality;
mod conformance;
mod data_frames;
mod denials;
mod displays;
mod fail_closed;
mod fleet_files;
mod fleet_lane;
mod fleet_quota;
mod fleet_sessions;
mod frames;
mod guard;
mod inputs;
mod kernel_memory;
mod layouts;
mod lifecycle;
mod limits;
mod neighbours;
mod phases;
mod pipe;
mod place;
mod posture;
mod pressure;
mod pythons;
mod real_work;
mod records;
mod results;
mod runs;
mod same_user;
mod serve;
mod serve_attacks;
mod serve_jobs;
mod serve_sessions;
mod session_command;
mod session_faults;
mod session_model;
mod session_pipe;
mod session_rollback;
mod session_soak;
mod session_tree;
mod sessions;
mod soak;
mod standing;
mod support;
mod tools;
