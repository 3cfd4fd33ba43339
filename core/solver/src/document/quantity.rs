//! Kubernetes quantities such as `"1500m"` or `"64Gi"` as integers, and back.
//!
//! The base unit of `cpu` is a thousandth of a core; that of all other resources is one: bytes, devices,
//! replicas. Arithmetic is exact; the caller says which way a fraction of the base unit goes.

/// Which way a fraction of the base unit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Up: for requests and usage.
    Up,
    /// Down: for what is there, and for limits.
    Down,
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not of the form `<number><suffix>`.
    #[error("is not a quantity such as \"4\", \"1500m\" or \"64Gi\"")]
    Malformed,
    /// Does not fit 64 bits in the base unit, or has too many digits.
    #[error("is out of range")]
    OutOfRange,
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// More significant digits than this are refused: no real quantity has them, and `i128` must hold the products.
const MOST_DIGITS: usize = 30;

/// Reads a quantity of `resource` in base units; negative ones too.
///
/// # Errors
/// When the text is no quantity or does not fit.
///
/// ```
/// use gangplan_solver::document::{Rounding, parse_quantity};
/// assert_eq!(parse_quantity("cpu", "1.5", Rounding::Up), Ok(1500));
/// assert_eq!(parse_quantity("memory", "1.5Ki", Rounding::Down), Ok(1536));
/// assert_eq!(parse_quantity("nvidia.com/gpu", "500m", Rounding::Up), Ok(1));
/// ```
pub fn parse_quantity(resource: &str, text: &str, rounding: Rounding) -> Result<i64, QuantityError> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(QuantityError::Malformed);
    }
    let (power_of_two, mut power_of_ten) = parse_suffix(suffix)?;
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if significant.len() > MOST_DIGITS {
        return Err(QuantityError::OutOfRange);
    }
    let dropped = digits.len() - digits.trim_end_matches('0').len();
    power_of_ten += length(dropped) - length(fraction.len());
    if resource == "cpu" {
        power_of_ten += 3;
    }
    let mantissa: i128 = significant.parse().map_err(|_| QuantityError::Malformed)?;
    let scaled = mantissa.checked_mul(1 << power_of_two).ok_or(QuantityError::OutOfRange)?;
    let signed = if negative { -scaled } else { scaled };
    shift_decimal(signed, power_of_ten, rounding)
}

/// The powers of two and of ten that a suffix stands for.
fn parse_suffix(suffix: &str) -> Result<(u32, i64), QuantityError> {
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Ok((*power, 0));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok((0, *power));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Malformed)?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Malformed);
    }
    // An exponent of more than four digits leads out of range, or to zero, whatever it is.
    let size = digits.trim_start_matches('0');
    let size: i64 = if size.len() > 4 { 10_000 } else { size.parse().unwrap_or(0) };
    Ok((0, if exponent.starts_with('-') { -size } else { size }))
}

/// `value` × 10^`power`, rounded as asked.
fn shift_decimal(value: i128, power: i64, rounding: Rounding) -> Result<i64, QuantityError> {
    let exponent = u32::try_from(power.unsigned_abs()).map_err(|_| QuantityError::OutOfRange)?;
    let factor = 10_i128.checked_pow(exponent);
    let exact = if power >= 0 {
        factor.and_then(|factor| value.checked_mul(factor)).ok_or(QuantityError::OutOfRange)?
    } else {
        // A divisor beyond i128 exceeds every value: only the direction is left.
        let (quotient, rest) = match factor {
            Some(factor) => (value.div_euclid(factor), value.rem_euclid(factor)),
            None => (if value < 0 { -1 } else { 0 }, 1),
        };
        quotient + i128::from(rest != 0 && rounding == Rounding::Up)
    };
    i64::try_from(exact).map_err(|_| QuantityError::OutOfRange)
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes an amount in base units as the shortest exact quantity that people expect for `resource`.
///
/// ```
/// use gangplan_solver::document::format_quantity;
/// assert_eq!(format_quantity("cpu", 1500), "1500m");
/// assert_eq!(format_quantity("cpu", 4000), "4");
/// assert_eq!(format_quantity("memory", 16 << 30), "16Gi");
/// ```
pub fn format_quantity(resource: &str, amount: i64) -> String {
    if resource == "cpu" {
        return if amount % 1000 == 0 { (amount / 1000).to_string() } else { format!("{amount}m") };
    }
    if is_in_bytes(resource) && amount != 0 {
        for (suffix, power) in BINARY.iter().rev() {
            if amount % (1 << power) == 0 {
                return format!("{}{suffix}", amount >> power);
            }
        }
    }
    amount.to_string()
}

fn is_in_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage" | "storage") || resource.starts_with("hugepages-")
}
