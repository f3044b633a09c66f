//! The quantities, their arithmetic and their two ways of being written.

use std::fmt;
use std::iter::Sum;
use std::ops::{Div, Mul};
use std::str::FromStr;

use derive_more::{Add, AddAssign, Neg, Sub, SubAssign};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::unit::{self, ParseError, Quantity, Unit};

const fn shown(text: &'static str, factor: f64) -> Unit {
    Unit { text, factor, shown: true }
}

const fn read(text: &'static str, factor: f64) -> Unit {
    Unit { text, factor, shown: false }
}

const KI: f64 = 1024.0;

/// A newtype over `f64` with the arithmetic that all quantities have.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Add, AddAssign, Neg, Sub, SubAssign)]
        pub struct $name(f64);

        impl $name {
            /// None of it.
            pub const ZERO: Self = Self(0.0);

            /// From a number of base units.
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            /// The number of base units.
            pub const fn get(self) -> f64 {
                self.0
            }

            /// The larger of the two.
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// The smaller of the two.
            #[must_use]
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Mul<$name> for f64 {
            type Output = $name;
            fn mul(self, quantity: $name) -> $name {
                $name(self * quantity.0)
            }
        }

        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                // An empty sum of floats is -0, which would be printed so.
                items.fold(Self::ZERO, |sum, item| sum + item)
            }
        }
    };
}

/// A number that people and files write with a unit.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $words:literal, $example:literal, [$($unit:expr),+ $(,)?]) => {
        number!($(#[$doc])* $name);

        impl Quantity for $name {
            const NAME: &'static str = $words;
            const EXAMPLE: &'static str = $example;
            const UNITS: &'static [Unit] = &[$($unit),+];

            fn from_base(value: f64) -> Self {
                Self(value)
            }

            fn base(self) -> f64 {
                self.0
            }
        }

        impl $name {
            /// The shortest text that reads back to the same bits.
            pub fn exact(self) -> String {
                unit::exact(self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.rounded(3))
            }
        }

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                unit::parse(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.exact())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor(std::marker::PhantomData))
            }
        }
    };
}

number!(
    /// How many of something: parameters, tokens, elements of a tensor. Not always whole, since a rank's share of
    /// them need not be.
    Count
);

number!(
    /// A part of a whole, from 0 to 1.
    Share
);

impl From<u32> for Count {
    fn from(count: u32) -> Self {
        Self(f64::from(count))
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Self(count as f64)
    }
}

/// So many of them, and as much of each.
impl Mul<Bytes> for Count {
    type Output = Bytes;
    fn mul(self, each: Bytes) -> Bytes {
        Bytes(self.0 * each.0)
    }
}

quantity!(
    /// An amount of memory or traffic. GB is 1e9 bytes, GiB is 2^30 bytes, Gb is 1e9 bits.
    Bytes, "a size", "64 GiB",
    [
        shown("B", 1.0), read("kB", 1e3), shown("KiB", KI), read("MB", 1e6),
        shown("MiB", KI * KI), read("GB", 1e9), shown("GiB", KI * KI * KI), read("TB", 1e12),
        shown("TiB", KI * KI * KI * KI), read("PB", 1e15),
    ]
);

quantity!(
    /// An amount of arithmetic: one flop is one floating-point operation, a multiply-add is two.
    Flop, "an amount of arithmetic", "6.2 PFLOP",
    [
        shown("FLOP", 1.0), shown("MFLOP", 1e6), shown("GFLOP", 1e9), shown("TFLOP", 1e12),
        shown("PFLOP", 1e15), shown("EFLOP", 1e18),
    ]
);

quantity!(
    /// A duration.
    Seconds, "a duration", "5 us",
    [
        shown("s", 1.0), read("ps", 1e-12), shown("ns", 1e-9), shown("us", 1e-6), shown("ms", 1e-3),
        shown("min", 60.0), shown("h", 3600.0), shown("days", 86400.0), read("d", 86400.0),
    ]
);

quantity!(
    /// A rate of transfer in one direction, or a memory bandwidth. GB/s is 1e9 byte/s, Gb/s is 1e9 bit/s.
    BytesPerSecond, "a bandwidth", "25 GB/s",
    [
        shown("B/s", 1.0), shown("kB/s", 1e3), shown("MB/s", 1e6), shown("GB/s", 1e9), shown("TB/s", 1e12),
        read("Mb/s", 1e6 / 8.0), read("Gb/s", 1e9 / 8.0), read("Tb/s", 1e12 / 8.0),
    ]
);

quantity!(
    /// A rate of arithmetic.
    FlopPerSecond, "a rate of arithmetic", "312 TFLOP/s",
    [
        shown("FLOP/s", 1.0), shown("MFLOP/s", 1e6), shown("GFLOP/s", 1e9), shown("TFLOP/s", 1e12),
        shown("PFLOP/s", 1e15), shown("EFLOP/s", 1e18),
    ]
);

quantity!(
    /// Power drawn.
    Watts, "a power", "700 W",
    [shown("W", 1.0), shown("kW", 1e3), shown("MW", 1e6), shown("GW", 1e9)]
);

quantity!(
    /// Energy drawn; people are shown watt-hours.
    Joules, "an amount of energy", "24 kWh",
    [
        read("J", 1.0), read("kJ", 1e3), shown("Wh", 3600.0), read("MJ", 1e6), shown("kWh", 3.6e6),
        shown("MWh", 3.6e9), shown("GWh", 3.6e12),
    ]
);

impl Bytes {
    /// 2^20 bytes.
    pub const MIB: Self = Self(1_048_576.0);
    /// 2^30 bytes.
    pub const GIB: Self = Self(1_073_741_824.0);
}

impl Seconds {
    /// One day.
    pub const DAY: Self = Self(86400.0);

    /// An hour.
    pub(crate) const HOUR: Self = Self(3600.0);

    /// The number of days.
    pub fn days(self) -> f64 {
        self / Self::DAY
    }

    /// The number of hours.
    pub fn hours(self) -> f64 {
        self.0 / 3600.0
    }
}

impl Bytes {
    /// The number of GiB.
    pub fn gib(self) -> f64 {
        self / Self::GIB
    }

    /// The unit in which amounts up to this one stand beside each other, and its name.
    pub fn common_unit(self) -> (Self, &'static str) {
        if self >= Self::GIB { (Self::GIB, "GiB") } else { (Self::MIB, "MiB") }
    }

    /// The number of GiB, for people, where the unit stands beside several: `82.8`.
    pub fn in_gib(self) -> String {
        super::significant(self.gib(), 3)
    }
}

macro_rules! per {
    ($amount:ident / $rate:ident) => {
        impl Div<$rate> for $amount {
            type Output = Seconds;
            fn div(self, rate: $rate) -> Seconds {
                Seconds(self.0 / rate.0)
            }
        }

        impl Div<Seconds> for $amount {
            type Output = $rate;
            fn div(self, time: Seconds) -> $rate {
                $rate(self.0 / time.0)
            }
        }

        impl Mul<Seconds> for $rate {
            type Output = $amount;
            fn mul(self, time: Seconds) -> $amount {
                $amount(self.0 * time.0)
            }
        }
    };
}

per!(Bytes / BytesPerSecond);
per!(Flop / FlopPerSecond);
per!(Joules / Watts);

struct TextVisitor<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> de::Visitor<'_> for TextVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as text with a unit, like \"{}\"", Q::NAME, Q::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        unit::parse(text).map_err(E::custom)
    }
}
