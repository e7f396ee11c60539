# The filters by Cython.
from cpython.exc cimport PyErr_Occurred
from cpython.ref cimport Py_DECREF
from dlx cimport (
    DLTensor, dlx_argument, dlx_borrowed, dlx_contract, dlx_contract_create, dlx_contract_release,
    dlx_function, dlx_last_error, dlx_python_borrow, dlx_python_function, dlx_python_give_back,
)

import dlx  # loads libdlx.so before this module needs it

cdef extern from "filter.h" nogil:
    const char *FILTER_BLUR
    int filter_brighten(DLTensor *image, double factor)
    int filter_blur_packed(void *context, const dlx_argument *arguments)


cdef dlx_contract *IMAGE


cdef int check(int status) except -1:
    """As Python's exception: dlx_python_* have set one, other functions have not."""
    if not status:
        return 0
    if not PyErr_Occurred():
        raise dlx.errors.from_status(status, dlx_last_error().decode())
    return -1


def brighten(image, double factor=1.5):
    cdef dlx_borrowed borrowed
    cdef void *argument = <void *>image
    cdef int status
    check(dlx_python_borrow(IMAGE, &argument, &borrowed))
    with nogil:
        status = filter_brighten(&borrowed.array, factor)
    check(dlx_python_give_back(&borrowed, 1, status == 0))
    check(status)


cdef object callable_of(dlx_function function, const char *text):
    """A whole contract: what dlx.function makes."""
    cdef dlx_contract *contract = NULL
    cdef void *made = NULL
    check(dlx_contract_create(text, &contract))
    try:
        check(dlx_python_function(<void (*)() noexcept nogil>function, contract, NULL, &made))
        made_object = <object>made
        Py_DECREF(made_object)  # the reference that the call gave
        return made_object
    finally:
        dlx_contract_release(contract)


check(dlx_contract_create(b"image: uint8[h, w] writable strided", &IMAGE))
blur = callable_of(<dlx_function>filter_blur_packed, FILTER_BLUR)
