//! The option that sets how much memory all runs together may come to use.

use carboy_engine::GateConfig;
use clap::Args;

/// For the commands that run jobs, or say how they would run.
#[derive(Args, Default)]
pub struct MemoryBudget {
    /// What all runs together may come to use: bytes, or a number with K, M or G for KiB, MiB or GiB
    /// [default: what the container or the machine has left]
    #[arg(long = "memory-budget", value_name = "SIZE", value_parser = bytes)]
    asked: Option<u64>,
}

impl MemoryBudget {
    /// The gate with this budget.
    pub fn gate(&self) -> GateConfig {
        GateConfig { memory_bytes: self.asked, ..GateConfig::default() }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.char_indices().next_back() {
        Some((at, 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number = Some(number).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number: Option<u64> = number.and_then(|digits| digits.parse().ok());
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected bytes, or a whole number with K, M or G, such as 512M".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_bytes_or_has_a_unit() {
        assert_eq!(bytes("1000").unwrap(), 1000);
        assert_eq!(bytes("64K").unwrap(), 64 << 10);
        assert_eq!(bytes("512M").unwrap(), 512 << 20);
        assert_eq!(bytes("2G").unwrap(), 2 << 30);
        for wrong in ["", "M", "-1", "+1M", "1.5G", "1MB", "1 G", "1g", "99999999999G", "1é"] {
            assert!(bytes(wrong).unwrap_err().contains("such as 512M"), "{wrong}");
        }
    }
}
