//! Rounding of numbers that are not negative. An evaluation rounds hundreds of times, and the mathematical library takes
//! some 60 instructions for each, since it may not assume a processor that rounds by itself.

/// The nearest whole number, of a half the greater; of numbers up to 2^63.
pub fn nearest(value: f64) -> i64 {
    let whole = value as i64;
    whole.saturating_add(i64::from(value - whole as f64 >= 0.5))
}

/// The least whole number that is not less; of numbers up to 2^63.
pub fn ceil(value: f64) -> f64 {
    let whole = value as i64 as f64;
    // No branch: what is rounded is mostly whole, but now and then not, which a processor cannot foresee.
    whole + f64::from(u8::from(whole < value))
}

/// The greatest whole number that divides both; the other one where one is 0.
pub(crate) const fn greatest_common_divisor(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As the library does, halves and whole numbers too.
        #[test]
        fn agrees_with_the_library(value in 0.0..9e18_f64, halves in 0..1_u64 << 52) {
            for value in [value, value / 1e18, halves as f64 / 2.0, f64::from_bits(0.5_f64.to_bits() - 1)] {
                prop_assert_eq!(nearest(value), libm::round(value) as i64);
                prop_assert_eq!(ceil(value).to_bits(), libm::ceil(value).to_bits());
            }
            prop_assert_eq!((nearest(f64::INFINITY), nearest(f64::NAN)), (i64::MAX, 0));
        }
    }
}
