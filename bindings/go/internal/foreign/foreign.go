// Package foreign plays another library in the tests: it makes managed tensors. (Tests cannot use cgo.)
package foreign

// #cgo pkg-config: dlx
// #include <dlx/dlpack.h>
// #include <stdatomic.h>
// #include <stdlib.h>
//
// struct foreign {
//   DLManagedTensorVersioned managed;
//   int64_t shape[2], strides[2];
//   float data[6];
// };
// static atomic_long deleted;
// static long count_deleted(void) { return atomic_load(&deleted); }
//
// static void delete(DLManagedTensorVersioned *managed) {
//   free(managed->manager_ctx);
//   atomic_fetch_add(&deleted, 1);
// }
//
// static struct foreign *make(void) {
//   struct foreign *f = calloc(1, sizeof *f);
//   for (int i = 0; i < 6; ++i) f->data[i] = (float)i;
//   f->shape[0] = 2, f->shape[1] = f->strides[0] = 3, f->strides[1] = 1;
//   f->managed.version.major = 1;
//   f->managed.manager_ctx = f;
//   f->managed.deleter = delete;
//   f->managed.dl_tensor = (DLTensor){f->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, f->shape, f->strides, 0};
//   return f;
// }
import "C"

import "unsafe"

// Deleted counts the calls of deleters.
func Deleted() int { return int(C.count_deleted()) }

// Managed is a DLManagedTensorVersioned of float32 (2, 3) with one field changed.
func Managed(field string, values ...int) unsafe.Pointer {
	f := C.make()
	t := &f.managed.dl_tensor
	switch field {
	case "major":
		f.managed.version.major = C.uint32_t(values[0])
	case "flags":
		f.managed.flags = C.uint64_t(values[0])
	case "ndim":
		t.ndim = C.int32_t(values[0])
	case "shape":
		f.shape = [2]C.int64_t{C.int64_t(values[0]), C.int64_t(values[1])}
	case "strides":
		f.strides = [2]C.int64_t{C.int64_t(values[0]), C.int64_t(values[1])}
	case "data":
		t.data = nil
	case "code":
		t.dtype.code = C.uint8_t(values[0])
	case "bits":
		t.dtype.bits = C.uint8_t(values[0])
	case "lanes":
		t.dtype.lanes = C.uint16_t(values[0])
	case "device_type":
		t.device.device_type = C.DLDeviceType(values[0])
	}
	return unsafe.Pointer(&f.managed)
}

// Malloc returns memory of C with these bytes.
func Malloc(data []byte) unsafe.Pointer { return C.CBytes(data) }

// Free frees it.
func Free(memory unsafe.Pointer) { C.free(memory) }
