use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::{DType, Element, Error, ErrorCode, Order, Result, Tensor};

/// The elements of a tensor in host memory as values of `T`, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a, T> {
    data: *const T,
    shape: &'a [i64],
    strides: &'a [i64],
    elements: PhantomData<&'a T>,
}

/// The same, to write the elements.
#[derive(Debug)]
pub struct TensorViewMut<'a, T> {
    data: *mut T,
    shape: &'a [i64],
    strides: &'a [i64],
    elements: PhantomData<&'a mut T>,
}

unsafe impl<T: Sync> Send for TensorView<'_, T> {}
unsafe impl<T: Sync> Sync for TensorView<'_, T> {}
unsafe impl<T: Send> Send for TensorViewMut<'_, T> {}
unsafe impl<T: Sync> Sync for TensorViewMut<'_, T> {}

impl Tensor {
    /// The elements, for any strides. Fails for another dtype, for memory that the CPU cannot access,
    /// and for elements that are not aligned.
    pub fn view<T: Element>(&self) -> Result<TensorView<'_, T>> {
        let data = self.elements::<T>()?;
        Ok(TensorView { data, shape: self.shape(), strides: self.strides(), elements: PhantomData })
    }

    /// The elements, to write them. Fails as [`view`](Tensor::view) does, and for read-only data.
    ///
    /// # Safety
    ///
    /// While the view exists, nothing else reads or writes the memory: no other view, handle, library
    /// or thread. The tensor's elements do not overlap.
    pub unsafe fn view_mut<T: Element>(&self) -> Result<TensorViewMut<'_, T>> {
        if self.is_readonly() {
            return Err(Error::new(
                ErrorCode::ReadOnly,
                "dlx::Tensor::view_mut: the tensor is read-only",
            ));
        }
        let data = self.elements::<T>()?;
        let (shape, strides) = (self.shape(), self.strides());
        Ok(TensorViewMut { data, shape, strides, elements: PhantomData })
    }

    /// All elements in C order. Fails as [`view`](Tensor::view) does, and for elements that are not
    /// compact: [`contiguous`](Tensor::contiguous) packs them.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let data = self.elements::<T>()?;
        if !self.is_contiguous(Order::C) {
            return Err(Error::invalid(
                "dlx::Tensor::as_slice: the elements are not compact: contiguous() packs them",
            ));
        }
        Ok(unsafe { std::slice::from_raw_parts(data, self.len()) })
    }

    /// The address of the first element, after all checks; dangling if there are no elements.
    fn elements<T: Element>(&self) -> Result<*mut T> {
        let (dtype, expected) = (self.dtype(), DType::of::<T>());
        if dtype != expected {
            let words = format!("dlx::Tensor: the elements are {dtype}, not {expected}");
            return Err(Error::invalid(words));
        }
        if !self.device().is_host() {
            let words = format!("dlx::Tensor: the CPU cannot access memory on {}", self.device());
            return Err(Error::new(ErrorCode::Unsupported, words));
        }
        if self.is_empty() {
            return Ok(std::ptr::NonNull::dangling().as_ptr());
        }
        self.synchronize()?;
        let data = self.data().cast::<T>();
        if data as usize % std::mem::align_of::<T>() != 0 {
            return Err(Error::invalid(
                "dlx::Tensor: the elements are not aligned for their type: copy() aligns them",
            ));
        }
        Ok(data)
    }
}

/// The distance of an element from the first, in elements; None if it is out of range.
fn offset(index: &[usize], shape: &[i64], strides: &[i64]) -> Option<isize> {
    if index.len() != shape.len() {
        return None;
    }
    let mut sum = 0;
    for ((&i, &extent), &stride) in index.iter().zip(shape).zip(strides) {
        if i as u64 >= extent as u64 {
            return None;
        }
        sum += i as i64 * stride;
    }
    Some(sum as isize)
}

macro_rules! common {
    ($name:ident) => {
        impl<'a, T: Element> $name<'a, T> {
            /// Extents.
            pub fn shape(&self) -> &'a [i64] {
                self.shape
            }

            /// Strides, in elements.
            pub fn strides(&self) -> &'a [i64] {
                self.strides
            }

            /// The address of the first element.
            pub fn as_ptr(&self) -> *const T {
                self.data
            }

            /// One element; None if the index is out of range or has another number of axes.
            pub fn get(&self, index: &[usize]) -> Option<&T> {
                let offset = offset(index, self.shape, self.strides)?;
                Some(unsafe { &*self.data.offset(offset) })
            }
        }

        impl<T: Element, const N: usize> Index<[usize; N]> for $name<'_, T> {
            type Output = T;

            fn index(&self, index: [usize; N]) -> &T {
                match self.get(&index) {
                    Some(value) => value,
                    None => panic!("index {index:?} is out of range for shape {:?}", self.shape),
                }
            }
        }
    };
}
common!(TensorView);
common!(TensorViewMut);

impl<'a, T: Element> TensorView<'a, T> {
    /// The elements in C order.
    pub fn iter(&self) -> Iter<'a, T> {
        let empty = self.shape.contains(&0);
        let index = (!empty).then(|| vec![0; self.shape.len()]);
        Iter { view: *self, index, offset: 0 }
    }
}

impl<T: Element> TensorViewMut<'_, T> {
    /// One element, to write it; None if the index is out of range.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        let offset = offset(index, self.shape, self.strides)?;
        Some(unsafe { &mut *self.data.offset(offset) })
    }
}

impl<T: Element, const N: usize> IndexMut<[usize; N]> for TensorViewMut<'_, T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        let shape = self.shape;
        match self.get_mut(&index) {
            Some(value) => value,
            None => panic!("index {index:?} is out of range for shape {shape:?}"),
        }
    }
}

/// The elements of a [`TensorView`] in C order.
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    view: TensorView<'a, T>,
    index: Option<Vec<i64>>, // of the next element; None at the end
    offset: i64,
}

impl<'a, T: Element> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let index = self.index.as_mut()?;
        let value = unsafe { &*self.view.data.offset(self.offset as isize) };
        for axis in (0..index.len()).rev() {
            let (extent, stride) = (self.view.shape[axis], self.view.strides[axis]);
            index[axis] += 1;
            self.offset += stride;
            if index[axis] < extent {
                return Some(value);
            }
            self.offset -= extent * stride;
            index[axis] = 0;
        }
        self.index = None;
        Some(value)
    }
}
