-- dlx from LuaJIT's ffi: memory that dlx owns, filled from Lua. Run: luajit share.lua [LIBDLX]
--
-- dlx owns the memory, because deleters run on any thread and Lua callbacks must not.
local ffi = require("ffi")

ffi.cdef [[
typedef struct dlx_tensor dlx_tensor;
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data; DLDevice device; int32_t ndim; DLDataType dtype;
  int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor; void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; DLTensor dl_tensor;
} DLManagedTensorVersioned;

const char *dlx_last_error(void);
int32_t dlx_tensor_empty(int32_t ndim, const int64_t *shape, const DLDataType *dtype,
                         int32_t device_type, int32_t device_id, const void *options,
                         dlx_tensor **out);
int32_t dlx_tensor_permute(dlx_tensor *tensor, const int32_t *axes, dlx_tensor **out);
int32_t dlx_tensor_select(dlx_tensor *tensor, int32_t axis, int64_t index, dlx_tensor **out);
void *dlx_tensor_data(const dlx_tensor *tensor);
void dlx_tensor_release(dlx_tensor *tensor);
int32_t dlx_tensor_to_dlpack_versioned(dlx_tensor *tensor, const void *options,
                                       DLManagedTensorVersioned **out);
]]
local dlx = ffi.load(arg[1] or "libdlx.so.1")

local function check(status)
  if status ~= 0 then error(ffi.string(dlx.dlx_last_error()), 0) end
end

-- Call a function that returns a new tensor through its last parameter. Lua's garbage collector
-- releases the tensor.
local function new(call, ...)
  local out = ffi.new("dlx_tensor *[1]")
  local arguments = {...}
  arguments[select("#", ...) + 1] = out
  check(call(unpack(arguments, 1, select("#", ...) + 1)))
  return ffi.gc(out[0], dlx.dlx_tensor_release)
end

local float32 = ffi.new("DLDataType", 2, 32, 1)
local matrix = new(dlx.dlx_tensor_empty, 2, ffi.new("int64_t[2]", 2, 3), float32, 1, 0, nil)
local values = ffi.cast("float *", dlx.dlx_tensor_data(matrix))
for i = 0, 5 do values[i] = i end

print(select(2, pcall(new, dlx.dlx_tensor_select, matrix, 0, 9)))

local transposed = new(dlx.dlx_tensor_permute, matrix, nil) -- a view
local managed = ffi.new("DLManagedTensorVersioned *[1]")
check(dlx.dlx_tensor_to_dlpack_versioned(transposed, nil, managed))

local t = managed[0].dl_tensor -- what a DLPack consumer gets
local data, line = ffi.cast("float *", t.data), {}
for i = 0, tonumber(t.shape[0]) - 1 do
  for j = 0, tonumber(t.shape[1]) - 1 do
    line[#line + 1] = tostring(data[i * t.strides[0] + j * t.strides[1]])
  end
end
print(("(%d, %d): %s"):format(tonumber(t.shape[0]), tonumber(t.shape[1]), table.concat(line, " ")))
managed[0].deleter(managed[0])
