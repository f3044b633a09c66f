//! Money: an amount in a currency that the user names. Nothing is ever converted.

use std::fmt;
use std::ops::Mul;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::text::printable;

use super::{ParseError, significant, thousands};

/// A currency by its three letters (ISO 4217), like `EUR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Currency([u8; 3]);

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// An amount of money. A currency that is not named is any one the reader has in mind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Money {
    /// How much.
    pub amount: f64,
    /// `None` where prices name no currency.
    pub currency: Option<Currency>,
}

impl Money {
    /// The amount with all its digits, as files and flags have it.
    pub fn exact(self) -> String {
        self.spelled(&self.amount.to_string())
    }

    fn spelled(self, amount: &str) -> String {
        self.currency.map_or_else(|| amount.to_owned(), |currency| format!("{amount} {currency}"))
    }
}

impl Mul<f64> for Money {
    type Output = Self;
    fn mul(self, count: f64) -> Self {
        Self { amount: self.amount * count, ..self }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let large = self.amount.abs() >= 999.5;
        f.pad(&self.spelled(&if large { thousands(self.amount) } else { significant(self.amount, 3) }))
    }
}

impl FromStr for Money {
    type Err = ParseError;

    /// Reads `2.50 EUR`, `2.50EUR` or `2.50`; a negative or infinite amount is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let shown: String = printable(text).chars().take(40).collect();
        let wrong = |why: &str| ParseError(format!("'{shown}' is not a price: {why}; write it like \"2.50 EUR\""));
        let text = text.trim_start();
        let first = text.find(char::is_whitespace).unwrap_or(text.len());
        let (number, rest) =
            text.split_at(text[..first].trim_end_matches(|letter: char| letter.is_ascii_uppercase()).len());
        let amount: f64 = number.replace('_', "").parse().map_err(|_| wrong("it does not begin with a number"))?;
        let mut words = rest.split_whitespace();
        let letters = words.next().map(|letters| <[u8; 3]>::try_from(letters.as_bytes()));
        let currency = match letters {
            None => None,
            Some(Ok(letters)) if letters.iter().all(u8::is_ascii_uppercase) => Some(Currency(letters)),
            Some(_) => return Err(wrong("a currency is three capital letters")),
        };
        match words.next() {
            Some(_) => Err(wrong("something follows the currency")),
            None if !amount.is_finite() || amount < 0.0 => Err(wrong("the number must be finite and not negative")),
            None => Ok(Self { amount, currency }),
        }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.exact())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Takes text, and a bare number as an amount of a currency that is not named.
struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = Money;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a price like \"2.50 EUR\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Money, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, amount: f64) -> Result<Money, E> {
        self.visit_str(&amount.to_string())
    }

    fn visit_i64<E: de::Error>(self, amount: i64) -> Result<Money, E> {
        self.visit_str(&amount.to_string())
    }
}
