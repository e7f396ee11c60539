// Go as the second runtime of a process: what test_two_runtimes.py calls.
package main

// #include <stdint.h>
// #include <stdlib.h>
import "C"

import (
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"libdlx.example/dlx"
)

var (
	released atomic.Int64
	given    atomic.Uint64
)

// rt_take imports a tensor and keeps it; 0 if that fails.
//
//export rt_take
func rt_take(managed unsafe.Pointer) C.uintptr_t {
	tensor, err := dlx.FromDLPack(managed)
	if err != nil {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(tensor))
}

func tensor(handle C.uintptr_t) *dlx.Tensor { return cgo.Handle(handle).Value().(*dlx.Tensor) }

//export rt_address
func rt_address(handle C.uintptr_t) C.uint64_t {
	return C.uint64_t(uintptr(tensor(handle).Pointer()))
}

//export rt_sum
func rt_sum(handle C.uintptr_t) C.double {
	values, err := dlx.Values[float32](tensor(handle))
	if err != nil {
		return -1
	}
	sum := 0.0
	for _, value := range values {
		sum += float64(value)
	}
	return C.double(sum)
}

//export rt_drop
func rt_drop(handle C.uintptr_t) {
	tensor(handle).Close()
	cgo.Handle(handle).Delete()
}

//export rt_drop_on_thread
func rt_drop_on_thread(handle C.uintptr_t) {
	done := make(chan bool)
	go func() { rt_drop(handle); done <- true }()
	<-done
}

// rt_give exports a tensor on memory of C, which a function of Go frees.
//
//export rt_give
func rt_give() unsafe.Pointer {
	memory := C.malloc(24)
	copy(unsafe.Slice((*float32)(memory), 6), []float32{0, 1, 2, 3, 4, 5})
	given.Store(uint64(uintptr(memory)))
	t, err := dlx.Wrap(dlx.Memory{
		Data: memory, DType: dlx.DTypeOf[float32](), Shape: []int{2, 3},
		Release: func() { C.free(memory); released.Add(1) },
	})
	if err != nil {
		panic(err)
	}
	defer t.Close()
	managed, err := t.ToDLPack()
	if err != nil {
		panic(err)
	}
	return managed
}

//export rt_given
func rt_given() C.uint64_t { return C.uint64_t(given.Load()) }

//export rt_released
func rt_released() C.int64_t { return C.int64_t(released.Load()) }

func main() {}
