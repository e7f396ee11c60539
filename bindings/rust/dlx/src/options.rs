use std::ops::{self, Bound, RangeBounds};

use crate::sys;

/// Whether a call may copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copy {
    /// Only if sharing is impossible.
    #[default]
    IfNeeded,
    /// Always.
    Always,
    /// Never: a needed copy is [`ErrorCode::CopyRefused`](crate::ErrorCode::CopyRefused).
    Never,
}

/// The order of the elements of a new tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Row-major: the last axis varies fastest.
    #[default]
    C,
    /// Column-major: the first axis varies fastest.
    F,
}

impl Copy {
    pub(crate) fn options(self, order: Order) -> sys::dlx_copy_options {
        sys::dlx_copy_options {
            struct_size: std::mem::size_of::<sys::dlx_copy_options>() as u32,
            copy: match self {
                Self::IfNeeded => sys::DLX_COPY_IF_NEEDED,
                Self::Always => sys::DLX_COPY_ALWAYS,
                Self::Never => sys::DLX_COPY_NEVER,
            },
            order: if order == Order::F { sys::DLX_ORDER_F } else { sys::DLX_ORDER_C },
            reserved: 0,
            flags: 0,
            stream: 0,
            alignment: 0,
            allocator: std::ptr::null(),
        }
    }
}

/// A part of one axis by Python's rules: negative positions count from the end, positions out of range
/// are clamped. Made from Rust's ranges: `(1..).into()`, `Range::from(..).step(-1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
}

impl Range {
    /// The same range in steps of `step`, which must not be 0.
    pub fn step(self, step: i64) -> Self {
        Self { step, ..self }
    }

    fn of(range: impl RangeBounds<i64>) -> Self {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => sys::DLX_SLICE_OPEN,
        };
        let stop = match range.end_bound() {
            Bound::Included(&-1) | Bound::Unbounded => sys::DLX_SLICE_OPEN,
            Bound::Included(&stop) => stop.saturating_add(1),
            Bound::Excluded(&stop) => stop,
        };
        Self { start, stop, step: 1 }
    }
}

macro_rules! ranges {
    ($($type:ty),*) => {$(
        impl From<$type> for Range {
            fn from(range: $type) -> Self {
                Self::of(range)
            }
        }
    )*};
}
ranges!(
    ops::RangeFull,
    ops::Range<i64>,
    ops::RangeFrom<i64>,
    ops::RangeTo<i64>,
    ops::RangeInclusive<i64>,
    ops::RangeToInclusive<i64>
);
