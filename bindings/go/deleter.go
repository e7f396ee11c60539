package dlx

import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// dlxGoDeleter runs on the thread of the last user.
//
//export dlxGoDeleter
func dlxGoDeleter(_ unsafe.Pointer, owner unsafe.Pointer) {
	handle := cgo.Handle(uintptr(owner))
	release := handle.Value().(func())
	handle.Delete()
	release()
}
