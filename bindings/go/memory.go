package dlx

// #include <dlx/dlx.h>
// #include <stdlib.h>
// #include <string.h>
//
// void dlxGoDeleter(void *data, void *user_data);
//
// static void dlx_go_run_deleter(void *data, void *user_data) {
//   dlxGoDeleter(data, user_data);
// }
//
// // C must not store pointers to Go memory: the description lives on C's stack.
// static dlx_status dlx_go_wrap(void *data, DLDataType dtype, int32_t device_type, int32_t device_id,
//                               int32_t ndim, const int64_t *shape, const int64_t *strides,
//                               uint64_t flags, uintptr_t owner, dlx_tensor **out) {
//   DLTensor description;
//   memset(&description, 0, sizeof description);
//   description.data = data;
//   description.device.device_type = (DLDeviceType)device_type;
//   description.device.device_id = device_id;
//   description.ndim = ndim;
//   description.dtype = dtype;
//   description.shape = (int64_t *)shape;
//   description.strides = (int64_t *)strides;
//   return dlx_tensor_wrap(&description, flags, owner ? dlx_go_run_deleter : NULL, (void *)owner, out);
// }
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Memory describes memory for Wrap.
type Memory struct {
	Data     unsafe.Pointer // address of element [0, …]; not Go memory, unless it is pinned
	DType    DType
	Shape    []int
	Strides  []int  // in elements; nil: compact
	Device   Device // the zero value means host memory
	ReadOnly bool
	// Release frees the memory. The last user calls it, once, on any thread; nil if nothing has to be freed.
	Release func()
}

// Empty is a new compact tensor whose data is not initialised.
func Empty(dtype DType, device Device, shape ...int) (*Tensor, error) {
	return create(func(out **C.dlx_tensor) C.dlx_status {
		raw := dtype.raw()
		extents, ndim := first(shape)
		return C.dlx_tensor_empty(ndim, extents, &raw, C.int32_t(device.Type), C.int32_t(device.ID), nil, out)
	})
}

// FromSlice is a tensor of the values in C order: of the slice itself, pinned until the last user is
// done, with Go 1.21 or newer (SharesSlices); of a copy with older ones.
func FromSlice[T Element](values []T, shape ...int) (*Tensor, error) {
	size := 1
	for _, extent := range shape {
		size *= extent
	}
	if size != len(values) {
		return nil, invalid("dlx.FromSlice: `shape` does not fit (got %v for %d values)", shape, len(values))
	}
	if len(values) == 0 {
		return Empty(DTypeOf[T](), Host, shape...)
	}
	if release := pin(unsafe.Pointer(&values[0])); release != nil {
		t, err := Wrap(Memory{Data: unsafe.Pointer(&values[0]), DType: DTypeOf[T](), Shape: shape, Release: release})
		if err != nil {
			release()
		}
		return t, err
	}
	t, err := Empty(DTypeOf[T](), Host, shape...)
	if err == nil {
		err = Write(t, func(elements []T) error { copy(elements, values); return nil })
	}
	return t, err
}

// FromBytes is a new tensor whose bytes are data, copied: for dtypes that Go has no type for.
func FromBytes(data []byte, dtype DType, shape ...int) (*Tensor, error) {
	t, err := Empty(dtype, Host, shape...)
	if err != nil {
		return nil, err
	}
	err = t.use(func(handle *C.dlx_tensor) error {
		size := int(C.dlx_tensor_nbytes(handle))
		if size != len(data) {
			return invalid("dlx.FromBytes: `data` has %d bytes (expected %d for %v of %v)", len(data), size, shape, dtype)
		}
		copy(unsafe.Slice((*byte)(C.dlx_tensor_data(handle)), size), data)
		return nil
	})
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Wrap is a tensor of existing memory. Release is not called if it fails.
func Wrap(memory Memory) (*Tensor, error) {
	if memory.Strides != nil && len(memory.Strides) != len(memory.Shape) {
		return nil, invalid("dlx.Wrap: `Strides` has %d numbers (expected %d)", len(memory.Strides), len(memory.Shape))
	}
	device := memory.Device
	if device == (Device{}) {
		device = Host
	}
	var flags C.uint64_t
	if memory.ReadOnly {
		flags = C.DLPACK_FLAG_BITMASK_READ_ONLY
	}
	var owner cgo.Handle
	if memory.Release != nil {
		owner = cgo.NewHandle(memory.Release)
	}
	t, err := create(func(out **C.dlx_tensor) C.dlx_status {
		shape, ndim := first(memory.Shape)
		strides, _ := first(memory.Strides)
		return C.dlx_go_wrap(memory.Data, memory.DType.raw(), C.int32_t(device.Type), C.int32_t(device.ID),
			ndim, shape, strides, flags, C.uintptr_t(owner), out)
	})
	if err != nil && owner != 0 {
		owner.Delete()
	}
	return t, err
}
