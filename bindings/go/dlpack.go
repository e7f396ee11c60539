package dlx

// #include <dlx/dlx.h>
//
// static void dlx_go_delete(DLManagedTensorVersioned *managed) {
//   if (managed != NULL && managed->deleter != NULL) managed->deleter(managed);
// }
// static void dlx_go_delete_legacy(DLManagedTensor *managed) {
//   if (managed != NULL && managed->deleter != NULL) managed->deleter(managed);
// }
import "C"

import "unsafe"

// FromDLPack imports a DLManagedTensorVersioned of another library. It is always consumed: if the import
// fails, its deleter is called. nil is an error.
func FromDLPack(managed unsafe.Pointer) (*Tensor, error) {
	raw := (*C.DLManagedTensorVersioned)(managed)
	var consumed C.int32_t
	t, err := create(func(out **C.dlx_tensor) C.dlx_status {
		return C.dlx_tensor_from_dlpack_versioned(raw, &consumed, out)
	})
	if consumed == 0 {
		C.dlx_go_delete(raw)
	}
	return t, err
}

// FromLegacyDLPack is FromDLPack for the DLManagedTensor of DLPack before 1.0.
func FromLegacyDLPack(managed unsafe.Pointer) (*Tensor, error) {
	raw := (*C.DLManagedTensor)(managed)
	t, err := create(func(out **C.dlx_tensor) C.dlx_status { return C.dlx_tensor_from_dlpack(raw, 0, out) })
	if err != nil {
		C.dlx_go_delete_legacy(raw)
	}
	return t, err
}

// ToDLPack exports the tensor as a DLManagedTensorVersioned, whose last holder calls its deleter
// (FromDLPack and DeleteDLPack do). Negative strides become a copy.
func (t *Tensor) ToDLPack() (unsafe.Pointer, error) {
	var out *C.DLManagedTensorVersioned
	err := t.use(func(handle *C.dlx_tensor) error {
		return check(func() C.dlx_status { return C.dlx_tensor_to_dlpack_versioned(handle, nil, &out) })
	})
	return unsafe.Pointer(out), err
}

// ToLegacyDLPack exports the tensor as the DLManagedTensor of DLPack before 1.0.
func (t *Tensor) ToLegacyDLPack() (unsafe.Pointer, error) {
	var out *C.DLManagedTensor
	err := t.use(func(handle *C.dlx_tensor) error {
		return check(func() C.dlx_status { return C.dlx_tensor_to_dlpack(handle, nil, &out) })
	})
	return unsafe.Pointer(out), err
}

// DeleteDLPack drops a DLManagedTensorVersioned that nobody imported.
func DeleteDLPack(managed unsafe.Pointer) { C.dlx_go_delete((*C.DLManagedTensorVersioned)(managed)) }
