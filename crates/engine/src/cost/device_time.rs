//! Device time, its part bound by memory, and its division into passes. Not for the work that takes it.

use derive_more::{Add, AddAssign, Mul, Sub};

use crate::plan::pass::Pass;
use crate::units::Seconds;

/// Device time of some compute, and the part that the memory's bandwidth sets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, AddAssign, Sub, Mul)]
pub struct DeviceTime {
    /// The whole time.
    pub time: Seconds,
    /// The part that is bound by memory.
    pub memory: Seconds,
}

impl DeviceTime {
    /// Bound by arithmetic.
    pub const fn arithmetic(time: Seconds) -> Self {
        Self { time, memory: Seconds::ZERO }
    }

    /// Bound by memory.
    pub const fn traffic(time: Seconds) -> Self {
        Self { time, memory: time }
    }

    /// The slower of arithmetic and traffic.
    pub(crate) fn roofline(arithmetic: Seconds, traffic: Seconds) -> Self {
        if traffic > arithmetic { Self::traffic(traffic) } else { Self::arithmetic(arithmetic) }
    }
}

/// Device time of forward and backward of some operators.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Mul)]
pub struct PassTimes {
    /// Forward.
    pub forward: DeviceTime,
    /// Backward, the gradients of inputs and of weights together.
    pub backward: DeviceTime,
    /// Part of `backward`: the gradients of weights, which nothing in the layers before waits for. The rest computes
    /// the gradients of inputs.
    pub weights: DeviceTime,
}

impl PassTimes {
    /// Device time of one pass.
    pub fn work(&self, pass: Pass) -> DeviceTime {
        match pass {
            Pass::Forward => self.forward,
            Pass::Backward => self.backward,
            Pass::BackwardInputs => self.backward - self.weights,
            Pass::BackwardWeights => self.weights,
        }
    }

    /// Times of an operator without weights: backward computes gradients of inputs only.
    pub(super) const fn of_inputs(forward: DeviceTime, backward: DeviceTime) -> Self {
        Self { forward, backward, weights: DeviceTime::traffic(Seconds::ZERO) }
    }
}
