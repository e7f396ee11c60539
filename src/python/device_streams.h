#ifndef DLX_SRC_PYTHON_DEVICE_STREAMS_H_
#define DLX_SRC_PYTHON_DEVICE_STREAMS_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Streams of devices (GPUs), current streams and the device types: what dlx.device needs beyond
/// the C API. Ends with a NULL name.
extern PyMethodDef device_stream_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_DEVICE_STREAMS_H_
