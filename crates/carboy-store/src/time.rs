//! Times as records have them: UTC, in the form of ISO 8601, which sorts as text and which SQLite's
//! date functions read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// A time such as `2026-11-16T03:21:30.123456Z`.
pub fn iso8601(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, date) = civil(day);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}.{micros:06}Z", second % 60)
}

/// The time of day and date of a number of days since 1970 (Howard Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + carry, month, date)
}

/// The beginning of a span that a person named: an age (`90s`, `15m`, `12h`, `7d`), or a date or time as records
/// have it (`2026-11-16`, `2026-11-16T03:21`). `None` if it is neither.
pub fn since(text: &str, now: SystemTime) -> Option<String> {
    let text = text.trim();
    let seconds = match text.char_indices().last() {
        Some((at, unit @ ('s' | 'm' | 'h' | 'd'))) => {
            let count: u64 = text[..at].parse().ok()?;
            let unit = match unit {
                's' => 1,
                'm' => 60,
                'h' => 3600,
                _ => DAY,
            };
            Some(count.checked_mul(unit)?)
        }
        _ => None,
    };
    if let Some(seconds) = seconds {
        let begin = now.checked_sub(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH);
        return Some(iso8601(begin.max(UNIX_EPOCH)));
    }
    let pattern = b"0000-00-00T00:00:00.000000Z";
    let fits = text.bytes().zip(pattern).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *form,
    });
    let whole = [10, 16, 19, 20, 27].contains(&text.len());
    // `…:30Z` without a fraction: the letter would sort after every fraction.
    let text = text.strip_suffix('Z').filter(|text| text.len() == 19).unwrap_or(text);
    let fits = fits
        || text.len() == 19
            && text.bytes().zip(pattern).all(|(b, f)| match f {
                b'0' => b.is_ascii_digit(),
                _ => b == *f,
            });
    (whole && fits).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(iso8601(at(0)), "1970-01-01T00:00:00.000000Z");
        assert_eq!(iso8601(at(951_827_696)), "2000-02-29T12:34:56.000000Z");
        assert_eq!(iso8601(at(4_107_542_399)), "2100-02-28T23:59:59.000000Z");
        assert_eq!(iso8601(at(4_107_542_400)), "2100-03-01T00:00:00.000000Z");
        let late = at(1_767_225_599) + Duration::from_micros(7);
        assert_eq!(iso8601(late), "2025-12-31T23:59:59.000007Z");
    }

    #[test]
    fn spans_begin_where_people_say() {
        let now = at(2 * DAY);
        assert_eq!(since("1d", now).as_deref(), Some("1970-01-02T00:00:00.000000Z"));
        assert_eq!(since("90s", now).as_deref(), Some("1970-01-02T23:58:30.000000Z"));
        assert_eq!(since("9999999d", now).as_deref(), Some("1970-01-01T00:00:00.000000Z"));
        assert_eq!(since("2026-11-16", now).as_deref(), Some("2026-11-16"));
        assert_eq!(since("2026-11-16T03:21:30Z", now).as_deref(), Some("2026-11-16T03:21:30"));
        for wrong in
            ["", "d", "-1d", "yesterday", "2026-1-1", "2026-11-16 03:21", "99999999999999999999d"]
        {
            assert_eq!(since(wrong, now), None, "{wrong}");
        }
    }
}
