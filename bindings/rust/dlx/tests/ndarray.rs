//! Arrays of ndarray, both ways, on one memory.
#![cfg(feature = "ndarray")]

use dlx::{Copy, DType, ErrorCode, Managed, Range, Tensor};
use ndarray::{arr0, arr2, s, Array2, Array3, ArrayD, Ix1, Ix2, IxDyn};

fn matrix() -> Array2<f32> {
    arr2(&[[0., 1., 2.], [3., 4., 5.]])
}

#[test]
fn an_array_is_shared_with_its_strides() {
    let array = matrix().reversed_axes();
    let address = array.as_ptr();
    let tensor = Tensor::from(array);
    assert_eq!((tensor.shape(), tensor.strides()), (&[3, 2][..], &[1, 3][..]));
    assert_eq!(tensor.data() as *const f32, address);
    let exported = tensor.to_dlpack().unwrap().into_raw();
    drop(tensor);
    let back = Tensor::from_dlpack(unsafe { Managed::from_raw(exported) }.unwrap()).unwrap();
    let array = back.array::<f32, Ix2>().unwrap();
    assert_eq!((array.as_ptr(), array), (address, matrix().reversed_axes().view()));
}

#[test]
fn arrays_that_run_backwards() {
    let mut array = matrix();
    array.invert_axis(ndarray::Axis(1));
    let expected = array.clone();
    let tensor = Tensor::from(array);
    assert_eq!(tensor.strides(), [3, -1]);
    assert_eq!(tensor.array::<f32, Ix2>().unwrap(), expected);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2., 1., 0., 5., 4., 3.]);
}

#[test]
fn views_of_views_agree() {
    let numbers = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (30 * i + 6 * j + k) as i32);
    let tensor = Tensor::from(numbers.clone());
    for step in [-3, -2, -1, 1, 2, 3] {
        let view = tensor.slice(2, Range::from(..).step(step)).unwrap();
        let view = view.permute(&[2, 0, 1]).unwrap().slice(1, Range::from(..).step(-1)).unwrap();
        let expected = numbers.slice(s![..;-1, .., ..;step as isize]).permuted_axes([2, 0, 1]);
        assert_eq!(view.array::<i32, IxDyn>().unwrap(), expected.into_dyn());
    }
}

#[test]
fn writing_is_seen_by_the_tensor() {
    let tensor = Tensor::from(matrix()).slice(0, Range::from(..).step(-1)).unwrap();
    unsafe { tensor.array_mut::<f32, Ix2>() }.unwrap()[[0, 2]] = 9.;
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [3., 4., 9., 0., 1., 2.]);
}

#[test]
fn no_axes_no_elements_and_repeated_ones() {
    assert_eq!(Tensor::from(arr0(7i64)).array::<i64, IxDyn>().unwrap(), arr0(7i64).into_dyn());
    let none = Tensor::from(Array2::<u8>::zeros((0, 3)));
    let none = none.slice(1, Range::from(..).step(-1)).unwrap();
    assert_eq!(none.array::<u8, Ix2>().unwrap().shape(), [0, 3]);
    let repeated = Tensor::from(vec![1u8, 2]).broadcast_to(&[3, 2]).unwrap();
    assert_eq!(repeated.array::<u8, Ix2>().unwrap(), arr2(&[[1, 2], [1, 2], [1, 2]]));
    let many = ArrayD::<f64>::zeros(vec![1; 9]);
    assert_eq!(Tensor::from(many).array::<f64, IxDyn>().unwrap().ndim(), 9);
}

#[test]
fn bad_input_is_an_error() {
    let tensor = Tensor::from(matrix());
    let error = tensor.array::<f32, Ix1>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("has 2 axes (got an array type of 1"), "{error}");
    assert!(tensor.array::<i32, Ix2>().unwrap_err().message().contains("float32, not int32"));
    let readonly = tensor.as_readonly().unwrap();
    let error = unsafe { readonly.array_mut::<f32, Ix2>() }.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadOnly);
    assert!(tensor.reshape(&[4], Copy::IfNeeded).is_err());
    assert_eq!(tensor.dtype(), DType::of::<f32>());
}
