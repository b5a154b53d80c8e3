//! Durable jobs: in one process, and on real brokers.

mod broker;
mod cluster;
mod harness;
mod local;
mod nats;
