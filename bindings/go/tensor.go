package dlx

// #include <dlx/dlx.h>
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Tensor describes memory and has a share in its owner. The description never changes.
type Tensor struct {
	lock     sync.RWMutex // Close waits for calls that use the handle
	handle   *C.dlx_tensor
	shape    []int
	strides  []int
	dtype    DType
	device   Device
	readonly bool
}

// adopt takes ownership of a reference from C.
func adopt(handle *C.dlx_tensor) *Tensor {
	ndim := int(C.dlx_tensor_ndim(handle))
	dtype := C.dlx_tensor_dtype(handle)
	t := &Tensor{
		handle:  handle,
		shape:   numbers(C.dlx_tensor_shape(handle), ndim),
		strides: numbers(C.dlx_tensor_strides(handle), ndim),
		dtype:   DType{uint8(dtype.code), uint8(dtype.bits), uint16(dtype.lanes)},
		device: Device{
			DeviceType(C.dlx_tensor_device_type(handle)), int32(C.dlx_tensor_device_id(handle)),
		},
		readonly: C.dlx_tensor_flags(handle)&C.DLPACK_FLAG_BITMASK_READ_ONLY != 0,
	}
	runtime.SetFinalizer(t, func(t *Tensor) { t.Close() })
	return t
}

// use runs a call with the handle, which stays valid during the call.
func (t *Tensor) use(call func(handle *C.dlx_tensor) error) error {
	if t == nil {
		return ErrClosed
	}
	t.lock.RLock()
	defer t.lock.RUnlock()
	if t.handle == nil {
		return ErrClosed
	}
	return call(t.handle)
}

// derive makes a tensor by a call whose last parameter is the new one.
func (t *Tensor) derive(call func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status) (*Tensor, error) {
	var made *Tensor
	err := t.use(func(handle *C.dlx_tensor) (err error) {
		made, err = create(func(out **C.dlx_tensor) C.dlx_status { return call(handle, out) })
		return err
	})
	return made, err
}

func create(call func(out **C.dlx_tensor) C.dlx_status) (*Tensor, error) {
	var out *C.dlx_tensor
	if err := check(func() C.dlx_status { return call(&out) }); err != nil {
		return nil, err
	}
	return adopt(out), nil
}

// Close drops the tensor; the last user of the memory frees it. Only the first call does something.
func (t *Tensor) Close() error {
	if t == nil {
		return nil
	}
	t.lock.Lock()
	handle := t.handle
	t.handle = nil
	t.lock.Unlock()
	runtime.SetFinalizer(t, nil)
	C.dlx_tensor_release(handle)
	return nil
}

// Clone returns another reference to the same tensor. (Copy copies the elements.)
func (t *Tensor) Clone() (*Tensor, error) {
	var out *Tensor
	err := t.use(func(handle *C.dlx_tensor) error {
		out = adopt(C.dlx_tensor_retain(handle))
		return nil
	})
	return out, err
}

// Shape returns the extents.
func (t *Tensor) Shape() []int { return append([]int(nil), t.shape...) }

// Strides returns the strides, in elements.
func (t *Tensor) Strides() []int { return append([]int(nil), t.strides...) }

// DType returns the data type.
func (t *Tensor) DType() DType { return t.dtype }

// Device returns the device.
func (t *Tensor) Device() Device { return t.device }

// ReadOnly says whether the data must not be written.
func (t *Tensor) ReadOnly() bool { return t.readonly }

// Len returns the number of elements.
func (t *Tensor) Len() int {
	size := 1
	for _, extent := range t.shape {
		size *= extent
	}
	return size
}

// IsContiguous says whether the elements are compact in order; false for a closed tensor.
func (t *Tensor) IsContiguous(order Order) (is bool) {
	_ = t.use(func(handle *C.dlx_tensor) error {
		is = C.dlx_tensor_is_contiguous(handle, C.int32_t(order)) != 0
		return nil
	})
	return is
}

// Pointer returns the address of the first element; nil for a closed tensor. It does not keep the memory
// alive: the caller closes the tensor after the last use.
func (t *Tensor) Pointer() (data unsafe.Pointer) {
	_ = t.use(func(handle *C.dlx_tensor) error {
		data = C.dlx_tensor_data(handle)
		return nil
	})
	return data
}

// Synchronize waits until the data is ready. On the CPU it always is.
func (t *Tensor) Synchronize() error {
	return t.use(func(handle *C.dlx_tensor) error {
		return check(func() C.dlx_status { return C.dlx_tensor_synchronize(handle) })
	})
}

// String describes the tensor, without its elements.
func (t *Tensor) String() string {
	if t == nil {
		return "Tensor(nil)"
	}
	words := ""
	if t.readonly {
		words = ", read-only"
	}
	return fmt.Sprintf("Tensor(%v, %v, %v%s)", t.dtype, t.shape, t.device, words)
}

func numbers(first *C.int64_t, count int) []int {
	values := make([]int, count)
	for i, value := range unsafe.Slice(first, count) {
		values[i] = int(value)
	}
	return values
}

// first returns the address of the first number, or nil; its length as a count, which dlx refuses if it
// is too large.
func first(values []int) (*C.int64_t, C.int32_t) {
	if len(values) == 0 {
		return nil, 0
	}
	// On the 64-bit systems that dlx supports, an int is an int64.
	return (*C.int64_t)(unsafe.Pointer(&values[0])), count(len(values))
}

func count(length int) C.int32_t {
	if length > 1<<31-1 {
		return 1<<31 - 1
	}
	return C.int32_t(length)
}
