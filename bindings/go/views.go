package dlx

// #include <dlx/dlx.h>
import "C"

import "math"

// Open is an omitted start or stop of Slice.
const Open = math.MinInt64

// Order is the order of the elements in memory.
type Order int32

// Orders.
const (
	RowMajor    Order = C.DLX_ORDER_C // the last axis varies fastest
	ColumnMajor Order = C.DLX_ORDER_F // the first axis varies fastest
)

// CopyMode says whether a call may copy.
type CopyMode int32

// Copy modes.
const (
	CopyIfNeeded CopyMode = C.DLX_COPY_IF_NEEDED
	CopyAlways   CopyMode = C.DLX_COPY_ALWAYS
	CopyNever    CopyMode = C.DLX_COPY_NEVER // a needed copy is ErrCopyRefused
)

func options(order Order, mode CopyMode) C.dlx_copy_options {
	return C.dlx_copy_options{
		struct_size: C.sizeof_dlx_copy_options, order: C.int32_t(order), copy: C.int32_t(mode),
	}
}

// Slice is a part of one axis by Python's rules: negative positions count from the end, positions out of
// range are clamped, Open means omitted.
func (t *Tensor) Slice(axis, start, stop, step int) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_slice(handle, narrow(axis), C.int64_t(start), C.int64_t(stop), C.int64_t(step), out)
	})
}

// Select is one position of an axis, without that axis; a negative index counts from the end.
func (t *Tensor) Select(axis, index int) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_select(handle, narrow(axis), C.int64_t(index), out)
	})
}

// Transpose reverses the axes.
func (t *Tensor) Transpose() (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_permute(handle, nil, out)
	})
}

// Permute reorders the axes: axis i of the view is axis axes[i].
func (t *Tensor) Permute(axes ...int) (*Tensor, error) {
	if t != nil && len(axes) != len(t.shape) {
		return nil, invalid("dlx_tensor_permute: `axes` has %d numbers (expected %d)", len(axes), len(t.shape))
	}
	short := shorten(axes)
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_permute(handle, &short[0], out)
	})
}

// Squeeze removes these axes, which have extent 1; all such axes if none is named.
func (t *Tensor) Squeeze(axes ...int) (*Tensor, error) {
	short := shorten(axes)
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		if len(axes) == 0 {
			return C.dlx_tensor_squeeze(handle, 0, nil, out)
		}
		return C.dlx_tensor_squeeze(handle, count(len(axes)), &short[0], out)
	})
}

// ExpandDims inserts an axis of extent 1.
func (t *Tensor) ExpandDims(axis int) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_expand_dims(handle, narrow(axis), out)
	})
}

// BroadcastTo repeats axes of extent 1 by NumPy's rules, without a copy.
func (t *Tensor) BroadcastTo(shape ...int) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		extents, ndim := first(shape)
		return C.dlx_tensor_broadcast_to(handle, ndim, extents, out)
	})
}

// Bitcast reinterprets the bytes as another dtype.
func (t *Tensor) Bitcast(dtype DType) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		raw := dtype.raw()
		return C.dlx_tensor_bitcast(handle, &raw, out)
	})
}

// AsReadOnly is the same tensor, read-only.
func (t *Tensor) AsReadOnly() (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_as_readonly(handle, out)
	})
}

// Contiguous is the tensor itself if its elements are compact in order, else a compact copy.
func (t *Tensor) Contiguous(order Order, mode CopyMode) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		how := options(order, mode)
		return C.dlx_tensor_contiguous(handle, &how, out)
	})
}

// Copy is a compact, writable copy on the same device.
func (t *Tensor) Copy() (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_clone(handle, nil, out)
	})
}

// Reshape is the same elements in another shape, a view if possible; one extent may be -1.
func (t *Tensor) Reshape(shape []int, mode CopyMode) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		how := options(RowMajor, mode)
		extents, ndim := first(shape)
		return C.dlx_tensor_reshape(handle, ndim, extents, &how, out)
	})
}

// ToDevice is the tensor itself if it is on the device, else a copy there.
func (t *Tensor) ToDevice(device Device) (*Tensor, error) {
	return t.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_to_device(handle, C.int32_t(device.Type), C.int32_t(device.ID), nil, out)
	})
}

// CopyFrom copies the elements of source, broadcast to this tensor's shape, into this tensor.
func (t *Tensor) CopyFrom(source *Tensor) error {
	return t.use(func(dst *C.dlx_tensor) error {
		return source.use(func(src *C.dlx_tensor) error {
			return check(func() C.dlx_status { return C.dlx_tensor_copy_from(dst, src, nil) })
		})
	})
}

// shorten converts axes for C. The result has at least one number, so that it has an address.
func shorten(axes []int) []C.int32_t {
	short := make([]C.int32_t, len(axes)+1)
	for i, axis := range axes {
		short[i] = narrow(axis)
	}
	return short
}

// narrow converts an axis for C. A number that does not fit becomes one that dlx refuses.
func narrow(axis int) C.int32_t {
	if axis < math.MinInt32 || axis > math.MaxInt32 {
		return math.MaxInt32
	}
	return C.int32_t(axis)
}
