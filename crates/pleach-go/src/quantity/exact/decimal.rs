//! Decimal numbers of any length, for quantities of more than 18 digits.
//!
//! Digits are kept one per byte: such numbers are rare, short, and scaled by powers of ten most
//! of the time. Operations on numbers far apart answer without writing out the zeros between.

use std::cmp::Ordering;

/// More digits than this are never written out.
const MAX_DIGITS: i64 = 100_000;

/// `digits × 10^exponent`, without leading and trailing zeros; zero has no digits.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
    /// How many decimal places the API server keeps of it: floats are computed from those.
    places: i64,
}

impl Decimal {
    /// From decimal digits as text.
    pub(super) fn new(negative: bool, text: &str, exponent: i64) -> Self {
        let digits = text.bytes().map(|b| b - b'0').collect();
        Self { negative, digits, exponent, places: -exponent }.normalized()
    }

    pub(super) fn from_i64(value: i64) -> Self {
        Self::new(value < 0, &value.unsigned_abs().to_string(), 0)
    }

    /// How many digits it has.
    pub(super) fn len(&self) -> usize {
        self.digits.len()
    }

    fn normalized(mut self) -> Self {
        let leading = self.digits.iter().take_while(|d| **d == 0).count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            self = Self { negative: false, exponent: 0, ..self };
        }
        self
    }

    /// `self × 10^by`
    pub(super) fn shifted(mut self, by: i64) -> Self {
        self.places = self.places.saturating_sub(by);
        if !self.digits.is_empty() {
            self.exponent = self.exponent.saturating_add(by);
        }
        self
    }

    pub(super) fn negated_if(mut self, negate: bool) -> Self {
        self.negative ^= negate && !self.digits.is_empty();
        self
    }

    pub(super) fn sign(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// `self × factor`
    pub(super) fn times(mut self, factor: u64) -> Self {
        let mut carry = 0u128;
        for digit in self.digits.iter_mut().rev() {
            carry += u128::from(*digit) * u128::from(factor);
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        let mut high = Vec::new();
        while carry > 0 {
            high.push((carry % 10) as u8);
            carry /= 10;
        }
        high.reverse();
        high.extend(self.digits);
        self.digits = high;
        self.normalized()
    }

    /// Without digits below `10^place`, away from zero if there were any.
    pub(super) fn rounded_up(mut self, place: i64) -> Self {
        if self.digits.is_empty() {
            return self;
        }
        self.places = -place;
        if self.exponent >= place {
            return self;
        }
        let dropped = place - self.exponent;
        let kept = (self.digits.len() as i64 - dropped).max(0) as usize;
        self.digits.truncate(kept);
        self.exponent = place;
        // The last digit of a normalized number is not zero: something was dropped.
        for at in (0..self.digits.len()).rev() {
            if self.digits[at] < 9 {
                self.digits[at] += 1;
                return self.normalized();
            }
            self.digits[at] = 0;
        }
        self.digits.insert(0, 1);
        self.normalized()
    }

    /// The power of ten above the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent.saturating_add(self.digits.len() as i64)
    }

    fn cmp_absolute(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Without trailing zeros the longer of two with a common start is the larger.
            (false, false) => {
                self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits))
            }
        }
    }

    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (1, 1) => self.cmp_absolute(other),
            (-1, -1) => other.cmp_absolute(self),
            (a, b) => a.cmp(&b),
        }
    }

    /// `None` if the sum has too many digits.
    pub(super) fn checked_add(&self, other: &Self) -> Option<Self> {
        if self.digits.is_empty() {
            return Some(other.clone());
        }
        if other.digits.is_empty() {
            return Some(self.clone());
        }
        let exponent = self.exponent.min(other.exponent);
        let top = self.magnitude().max(other.magnitude());
        let length = usize::try_from(top.saturating_sub(exponent)).ok()?;
        if length as i64 > MAX_DIGITS {
            return None;
        }
        let (larger, smaller) = match self.cmp_absolute(other) {
            Ordering::Less => (other, self),
            _ => (self, other),
        };
        let aligned = |number: &Self| {
            let mut digits = vec![0i8; length + 1];
            let end = digits.len() - (number.exponent - exponent) as usize;
            for (slot, digit) in digits[..end].iter_mut().rev().zip(number.digits.iter().rev()) {
                *slot = *digit as i8;
            }
            digits
        };
        let (mut sum, addend) = (aligned(larger), aligned(smaller));
        let subtract = larger.negative != smaller.negative;
        let mut carry = 0i8;
        for (digit, other) in sum.iter_mut().zip(&addend).rev() {
            let value = *digit + carry + if subtract { -other } else { *other };
            carry = value.div_euclid(10);
            *digit = value.rem_euclid(10);
        }
        let digits = sum.into_iter().map(|d| d as u8).collect();
        let places = self.places.max(other.places);
        Some(Self { negative: larger.negative, digits, exponent, places }.normalized())
    }

    /// The number without its decimal point as a float, and the power of ten to multiply with.
    pub(super) fn to_float_parts(&self) -> (f64, i64) {
        let mut text: String = self.digits.iter().map(|d| char::from(d + b'0')).collect();
        if text.is_empty() {
            return (0.0, 0);
        }
        // Beyond a thousand digits it is infinite anyway.
        let zeros = self.exponent.saturating_add(self.places).clamp(0, 1_000);
        text.extend(std::iter::repeat_n('0', zeros as usize));
        let base: f64 = text.parse().expect("decimal digits are a float");
        (if self.negative { -base } else { base }, -self.places)
    }
}
