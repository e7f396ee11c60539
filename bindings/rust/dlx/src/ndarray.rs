//! Arrays of the crate ndarray: the feature `ndarray`.

use ndarray::{Array, ArrayView, ArrayViewMut, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};

use crate::{Element, Error, Result, Tensor};

impl Tensor {
    /// The elements as a view of ndarray, without a copy, for any strides. Fails as
    /// [`view`](Tensor::view) does, and for another number of axes than `D` has.
    ///
    /// ```
    /// use dlx::Tensor;
    /// use ndarray::{arr2, Axis, Ix2};
    ///
    /// let tensor = Tensor::from(arr2(&[[0f32, 1., 2.], [3., 4., 5.]])); // no copy
    /// let columns = tensor.transpose()?;
    /// assert_eq!(columns.array::<f32, Ix2>()?.sum_axis(Axis(1)).to_vec(), [3., 5., 7.]);
    /// # Ok::<(), dlx::Error>(())
    /// ```
    pub fn array<T: Element, D: Dimension>(&self) -> Result<ArrayView<'_, T, D>> {
        let view = self.view::<T>()?;
        let layout = Layout::<D>::of(self)?;
        let first = unsafe { view.as_ptr().offset(layout.lowest) };
        let mut array = unsafe { ArrayView::from_shape_ptr(layout.shape, first) };
        layout.reversed.into_iter().for_each(|axis| array.invert_axis(axis));
        Ok(array)
    }

    /// The elements, to write them. Fails as [`array`](Tensor::array) does, and for read-only data.
    ///
    /// # Safety
    ///
    /// That of [`view_mut`](Tensor::view_mut).
    pub unsafe fn array_mut<T: Element, D: Dimension>(&self) -> Result<ArrayViewMut<'_, T, D>> {
        let view = self.view_mut::<T>()?;
        let layout = Layout::<D>::of(self)?;
        let first = (view.as_ptr() as *mut T).offset(layout.lowest);
        let mut array = ArrayViewMut::from_shape_ptr(layout.shape, first);
        layout.reversed.into_iter().for_each(|axis| array.invert_axis(axis));
        Ok(array)
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    /// A tensor of the array's own memory, with its strides. The last user drops the array. Panics
    /// only if memory is exhausted.
    fn from(mut array: Array<T, D>) -> Self {
        let shape: Vec<i64> = array.shape().iter().map(|&extent| extent as i64).collect();
        let strides: Vec<i64> = array.strides().iter().map(|&stride| stride as i64).collect();
        let data = array.as_mut_ptr();
        unsafe { Self::wrap(data, &shape, Some(&strides), 0, Box::new(array)) }
            .expect("an array is a tensor")
    }
}

/// A tensor's layout as ndarray takes it: strides are positive, and axes are reversed afterwards.
struct Layout<D: Dimension> {
    shape: StrideShape<D>,
    lowest: isize, // from the first element to the one with the lowest address
    reversed: Vec<Axis>,
}

impl<D: Dimension> Layout<D> {
    fn of(tensor: &Tensor) -> Result<Self> {
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        let (mut lowest, mut reversed) = (0, Vec::new());
        for (axis, (&extent, &stride)) in tensor.shape().iter().zip(tensor.strides()).enumerate() {
            // Strides of an axis without steps, or of a tensor without elements, mean nothing.
            let stride = if extent < 2 || tensor.is_empty() { 0 } else { stride as isize };
            if stride < 0 {
                lowest += (extent as isize - 1) * stride;
                reversed.push(Axis(axis));
            }
            shape.push(extent as usize);
            strides.push(stride.unsigned_abs());
        }
        let dimension = |numbers: &[usize]| D::from_dimension(&IxDyn(numbers));
        match (dimension(&shape), dimension(&strides)) {
            (Some(shape), Some(strides)) => {
                Ok(Self { shape: shape.strides(strides), lowest, reversed })
            }
            _ => Err(Error::invalid(format!(
                "dlx::Tensor::array: the tensor has {} axes (got an array type of {}; IxDyn takes any number)",
                tensor.ndim(),
                D::NDIM.unwrap_or(0)
            ))),
        }
    }
}
