//! The grammar of Kubernetes quantities, exact, with directed rounding.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use gangplan_solver::document::{QuantityError, Rounding, format_quantity, parse_quantity};
use proptest::prelude::*;

#[test]
fn every_form_of_the_grammar_is_read_exactly() {
    let table = [
        ("cpu", "4", 4000),
        ("cpu", "1500m", 1500),
        ("cpu", "0.1", 100),
        ("cpu", ".5", 500),
        ("cpu", "5.", 5000),
        ("cpu", "+2", 2000),
        ("cpu", "-1", -1000),
        ("cpu", "2e3", 2_000_000),
        ("cpu", "2E-3", 2),
        ("cpu", "1k", 1_000_000),
        ("memory", "64Gi", 64 << 30),
        ("memory", "1.5Ki", 1536),
        ("memory", "1E", 1_000_000_000_000_000_000),
        ("memory", "1e3", 1000),
        ("memory", "7Ei", 7 << 60),
        ("memory", "128974848000m", 128_974_848),
        ("memory", "123456789.000000000000000000000", 123_456_789),
        ("nvidia.com/gpu", "8", 8),
        ("pods", "110", 110),
        ("pods", "000", 0),
    ];
    for (resource, text, amount) in table {
        assert_eq!(parse_quantity(resource, text, Rounding::Up), Ok(amount), "{resource} {text}");
        assert_eq!(parse_quantity(resource, text, Rounding::Down), Ok(amount), "{resource} {text}");
    }
}

#[test]
fn a_fraction_of_the_unit_goes_the_way_that_was_asked_for() {
    let table = [
        ("cpu", "0.0001", 1, 0),
        ("cpu", "100u", 1, 0),
        ("cpu", "1n", 1, 0),
        ("memory", "100m", 1, 0),
        ("memory", "0.3Ki", 308, 307),
        ("nvidia.com/gpu", "0.5", 1, 0),
        ("cpu", "-0.0001", 0, -1),
        ("memory", "1e-9000", 1, 0),
        ("memory", "1e-99999999999999999999", 1, 0),
    ];
    for (resource, text, up, down) in table {
        assert_eq!(parse_quantity(resource, text, Rounding::Up), Ok(up), "{resource} {text}");
        assert_eq!(parse_quantity(resource, text, Rounding::Down), Ok(down), "{resource} {text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused() {
    for text in ["", " ", "x", "4x", "4 Gi", "4gi", "1e", "1e+", "--1", "1.2.3", ".", "+", "4K", "1Ei1", "١"]
    {
        assert_eq!(parse_quantity("memory", text, Rounding::Up), Err(QuantityError::Malformed), "{text:?}");
    }
}

#[test]
fn what_does_not_fit_64_bits_is_refused() {
    for text in ["8Ei", "1e19", "9223372036854775808", "1e99999", "99999999999999999999999999999999999999999"]
    {
        assert_eq!(parse_quantity("memory", text, Rounding::Up), Err(QuantityError::OutOfRange), "{text:?}");
    }
    assert_eq!(parse_quantity("memory", "9223372036854775807", Rounding::Up), Ok(i64::MAX));
    assert_eq!(parse_quantity("cpu", "9223372036854775.807", Rounding::Up), Ok(i64::MAX));
    assert_eq!(parse_quantity("cpu", "9223372036854775.8071", Rounding::Up), Err(QuantityError::OutOfRange));
}

#[test]
fn amounts_are_written_as_people_expect() {
    let table = [
        ("cpu", 4000, "4"),
        ("cpu", 1500, "1500m"),
        ("cpu", 0, "0"),
        ("memory", 16 << 30, "16Gi"),
        ("memory", 1536, "1536"),
        ("memory", 1_536 << 10, "1536Ki"),
        ("memory", 0, "0"),
        ("hugepages-2Mi", 2 << 20, "2Mi"),
        ("nvidia.com/gpu", 1024, "1024"),
    ];
    for (resource, amount, text) in table {
        assert_eq!(format_quantity(resource, amount), text);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(amount in any::<i64>(), cpu in any::<bool>()) {
        let resource = if cpu { "cpu" } else { "memory" };
        let text = format_quantity(resource, amount);
        prop_assert_eq!(parse_quantity(resource, &text, Rounding::Down), Ok(amount));
    }

    #[test]
    fn rounding_up_and_down_differ_by_one_at_most(digits in "[0-9]{1,9}(\\.[0-9]{0,9})?", suffix in "(n|u|m|k|M|Ki|Mi)?") {
        let text = format!("{digits}{suffix}");
        let up = parse_quantity("memory", &text, Rounding::Up).unwrap();
        let down = parse_quantity("memory", &text, Rounding::Down).unwrap();
        prop_assert!(up - down == 0 || up - down == 1);
    }
}
