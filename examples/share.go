// dlx from Go: share C memory by DLPack. The last user frees it.
// Run: go run share.go (pkg-config must find dlx)
package main

/*
#cgo pkg-config: dlx
#include <dlx/dlx.h>
#include <stdlib.h>

void freeMatrix(void *data, void *user_data);

static void run_deleter(DLManagedTensorVersioned *managed) { managed->deleter(managed); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// The last user of the memory calls this, on any thread.
//
//export freeMatrix
func freeMatrix(data, _ unsafe.Pointer) {
	C.free(data)
	fmt.Println("released")
}

// newTensor runs a call that makes a tensor. The message of an error belongs to the thread of the
// call, so the goroutine must stay on that thread until it has read the message.
func newTensor(call func(out **C.dlx_tensor) C.dlx_status) (*C.dlx_tensor, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out *C.dlx_tensor
	if call(&out) != C.DLX_OK {
		return nil, errors.New(C.GoString(C.dlx_last_error()))
	}
	return out, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	// C must not keep memory of Go's garbage collector, so this memory is C's.
	data := C.malloc(6 * 4)
	values := unsafe.Slice((*float32)(data), 6)
	for i := range values {
		values[i] = float32(i)
	}
	matrix := must(newTensor(func(out **C.dlx_tensor) C.dlx_status {
		shape := (*C.int64_t)(C.malloc(16))
		defer C.free(unsafe.Pointer(shape))
		copy(unsafe.Slice(shape, 2), []C.int64_t{2, 3})
		description := C.DLTensor{data: data, ndim: 2, shape: shape}
		description.device.device_type = C.kDLCPU
		description.dtype = C.DLDataType{code: C.kDLFloat, bits: 32, lanes: 1}
		return C.dlx_tensor_wrap(&description, 0, C.dlx_deleter_fn(C.freeMatrix), nil, out)
	}))

	_, err := newTensor(func(out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_select(matrix, 0, 9, out)
	})
	fmt.Println(err)

	transposed := must(newTensor(func(out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_permute(matrix, nil, out) // a view
	}))
	C.dlx_tensor_release(matrix) // the view keeps the memory
	var managed *C.DLManagedTensorVersioned
	if C.dlx_tensor_to_dlpack_versioned(transposed, nil, &managed) != C.DLX_OK {
		panic(C.GoString(C.dlx_last_error()))
	}
	C.dlx_tensor_release(transposed)

	t := &managed.dl_tensor // what a DLPack consumer gets
	shape, strides := unsafe.Slice(t.shape, 2), unsafe.Slice(t.strides, 2)
	fmt.Printf("(%d, %d):", shape[0], shape[1])
	for i := C.int64_t(0); i < shape[0]; i++ {
		for j := C.int64_t(0); j < shape[1]; j++ {
			fmt.Print(" ", *(*float32)(unsafe.Add(t.data, 4*(i*strides[0]+j*strides[1]))))
		}
	}
	fmt.Println()
	C.run_deleter(managed)
}
