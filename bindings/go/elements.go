package dlx

// #include <dlx/dlx.h>
import "C"

import "unsafe"

// Read calls f with all elements in C order, which are the tensor's memory and not a copy. f must not
// write to the slice or keep it; it may close the tensor. The elements must be compact: Contiguous packs them.
func Read[T Element](t *Tensor, f func(values []T) error) error {
	lent, err := t.Clone() // f runs without t's lock
	if err != nil {
		return err
	}
	defer lent.Close()
	return lent.use(func(handle *C.dlx_tensor) error {
		if err := accessible[T](t, handle); err != nil {
			return err
		}
		if C.dlx_tensor_is_contiguous(handle, C.DLX_ORDER_C) == 0 {
			return invalid("dlx: the elements are not compact: Contiguous packs them")
		}
		return f(unsafe.Slice((*T)(C.dlx_tensor_data(handle)), t.Len()))
	})
}

// Write is Read for an f that writes; a read-only tensor is ErrReadOnly. f must not keep the slice.
func Write[T Element](t *Tensor, f func(values []T) error) error {
	if err := writable(t); err != nil {
		return err
	}
	return Read(t, f)
}

// Values returns a copy of all elements in C order, from any strides and any device.
func Values[T Element](t *Tensor) ([]T, error) {
	packed, err := t.packed()
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	values := []T{}
	err = Read(packed, func(elements []T) error {
		values = append(values, elements...)
		return nil
	})
	return values, err
}

// Bytes returns a copy of the bytes of all elements in C order.
func (t *Tensor) Bytes() ([]byte, error) {
	packed, err := t.packed()
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	data := []byte{}
	err = packed.use(func(handle *C.dlx_tensor) error {
		data = append(data, unsafe.Slice((*byte)(C.dlx_tensor_data(handle)), int(C.dlx_tensor_nbytes(handle)))...)
		return nil
	})
	return data, err
}

// packed is the tensor in host memory, compact and aligned.
func (t *Tensor) packed() (*Tensor, error) {
	host, err := t.ToDevice(Host)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	return host.derive(func(handle *C.dlx_tensor, out **C.dlx_tensor) C.dlx_status {
		how := options(RowMajor, CopyIfNeeded)
		how.alignment = 16
		return C.dlx_tensor_contiguous(handle, &how, out)
	})
}

// At returns one element.
func At[T Element](t *Tensor, index ...int) (value T, err error) {
	err = element(t, index, func(address *T) { value = *address })
	return value, err
}

// SetAt writes one element.
func SetAt[T Element](t *Tensor, value T, index ...int) error {
	if err := writable(t); err != nil {
		return err
	}
	return element(t, index, func(address *T) { *address = value })
}

func element[T Element](t *Tensor, index []int, f func(address *T)) error {
	return t.use(func(handle *C.dlx_tensor) error {
		if err := accessible[T](t, handle); err != nil {
			return err
		}
		if len(index) != len(t.shape) {
			return invalid("dlx: the index has %d numbers (expected %d)", len(index), len(t.shape))
		}
		offset := 0
		for axis, i := range index {
			if i < 0 || i >= t.shape[axis] {
				return invalid("dlx: the index is out of range (got %v for shape %v)", index, t.shape)
			}
			offset += i * t.strides[axis]
		}
		var value T
		f((*T)(unsafe.Add(C.dlx_tensor_data(handle), offset*int(unsafe.Sizeof(value)))))
		return nil
	})
}

func writable(t *Tensor) error {
	if t != nil && t.readonly {
		return &Error{ReadOnly, "dlx: the tensor is read-only"}
	}
	return nil
}

// accessible says whether the CPU can read the elements as values of T, and waits until they are ready.
func accessible[T Element](t *Tensor, handle *C.dlx_tensor) error {
	if expected := DTypeOf[T](); t.dtype != expected {
		return invalid("dlx: the elements are %v, not %v", t.dtype, expected)
	}
	if !t.device.isHost() {
		return &Error{Unsupported, "dlx: the CPU cannot access memory on " + t.device.String()}
	}
	var value T
	if uintptr(C.dlx_tensor_data(handle))%unsafe.Alignof(value) != 0 {
		return invalid("dlx: the elements are not aligned for their type: Copy aligns them")
	}
	if t.device.Type == CPU {
		return nil
	}
	return check(func() C.dlx_status { return C.dlx_tensor_synchronize(handle) })
}
