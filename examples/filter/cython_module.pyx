# The filters by Cython.
# distutils: language = c
from cpython.exc cimport PyErr_Occurred
from libc.stdint cimport int64_t
from dlx cimport (
    DLTensor, dlx_borrowed, dlx_contract, dlx_contract_create, dlx_last_error, dlx_python_borrow,
    dlx_python_function, dlx_python_give_back,
)

import dlx  # loads libdlx.so before this module needs it

cdef extern from "filter.h" nogil:
    const char *FILTER_BLUR
    const char *FILTER_BRIGHTEN
    int filter_brighten(DLTensor *image, double factor)
    int filter_blur(const DLTensor *image, int64_t radius, DLTensor *out)


cdef dlx_contract *IMAGE


cdef int check(int status) except -1:
    """As Python's exception: dlx_python_* have set one, other functions have not."""
    if status and not PyErr_Occurred():
        raise dlx.errors.from_status(status, dlx_last_error().decode())
    return -1 if status else 0


def brighten(image, double factor=1.5):
    cdef dlx_borrowed borrowed
    cdef void *argument = <void *>image
    cdef int status
    check(dlx_python_borrow(IMAGE, &argument, &borrowed))
    with nogil:
        status = filter_brighten(&borrowed.array, factor)
    check(dlx_python_give_back(&borrowed, 1, status == 0))
    check(status)


def _callable():
    cdef dlx_contract *contract
    cdef void *made
    check(dlx_contract_create(FILTER_BLUR, &contract))
    check(dlx_python_function(<void (*)() noexcept nogil>filter_blur, contract, NULL, &made))
    return <object>made


check(dlx_contract_create(b"image: uint8[h, w] writable strided", &IMAGE))
blur = _callable()
