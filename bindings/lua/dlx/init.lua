-- dlx for LuaJIT: tensors shared between libraries and languages, by DLPack. README.md has an example.
local has_ffi, ffi = pcall(require, 'ffi')
if not has_ffi then error('dlx: this is ' .. _VERSION .. ', without an ffi (expected LuaJIT 2.1)') end
local constants = require 'dlx.generated'
local found, C = pcall(ffi.load, os.getenv 'DLX_LIBRARY' or 'libdlx.so.1')
if not found then error('dlx: libdlx.so.1 was not found (LD_LIBRARY_PATH, or DLX_LIBRARY): ' .. C) end

local M = {constants = constants, C = C}
local COPY = {['if-needed'] = 0, always = 1, never = 2}
local HOSTS = {
  [constants.kDLCPU] = true, [constants.kDLCUDAHost] = true, [constants.kDLROCMHost] = true,
  [constants.kDLCUDAManaged] = true,
}
-- The C types of elements.
local TYPES = {
  bool = 'uint8_t', float32 = 'float', float64 = 'double', int8 = 'int8_t', int16 = 'int16_t',
  int32 = 'int32_t', int64 = 'int64_t', uint8 = 'uint8_t', uint16 = 'uint16_t', uint32 = 'uint32_t',
  uint64 = 'uint64_t',
}

-- An error: `code` is the name of the status, tostring() gives dlx's words.
local Error = {}
Error.__index = Error
function Error:__tostring() return self.message end
M.Error = Error

local function fail(status, message)
  local code = ffi.string(C.dlx_status_name(status))
  error(setmetatable({status = status, code = code, message = message}, Error), 0)
end

local function invalid(message) fail(constants.DLX_ERROR_INVALID_ARGUMENT, message) end

local function check(status)
  if status ~= 0 then fail(status, ffi.string(C.dlx_last_error())) end
end

local function integer(value, name)
  local number = tonumber(value)
  if not number or number ~= math.floor(number) or math.abs(number) > 2 ^ 63 then
    invalid(('dlx: `%s` is not an integer: %s'):format(name, tostring(value)))
  end
  return value
end

local function axis_number(value)
  if math.abs(tonumber(integer(value, 'axis'))) >= 2 ^ 31 then invalid('dlx: `axis` is out of range') end
  return value
end

local function numbers(values, ctype, name)
  if type(values) ~= 'table' then invalid(('dlx: `%s` is not a table of integers'):format(name)) end
  local array = ffi.new(ctype .. '[?]', math.max(1, #values))
  for i, value in ipairs(values) do
    array[i - 1] = ctype == 'int32_t' and axis_number(value) or integer(value, name)
  end
  return array, #values
end

local function text(value, name)
  if type(value) ~= 'string' or value:find '%z' then
    invalid(('dlx: `%s` is not a string without zero bytes'):format(name))
  end
  return value
end

local function name_of(call, ...)
  local buffer = ffi.new('char[?]', constants.DLX_NAME_SIZE)
  local values = {...}
  values[#values + 1] = buffer
  values[#values + 1] = constants.DLX_NAME_SIZE
  check(call(unpack(values)))
  return ffi.string(buffer)
end

local function dtype_of(name)
  local out = ffi.new 'DLDataType[1]'
  check(C.dlx_dtype_parse(text(name, 'dtype'), out))
  return out
end

function M.parse_dtype(name)
  local d = dtype_of(name)[0]
  return {code = d.code, bits = d.bits, lanes = d.lanes, name = name_of(C.dlx_dtype_name, d)}
end

function M.parse_device(name)
  local kind, id = ffi.new 'int32_t[1]', ffi.new 'int32_t[1]'
  check(C.dlx_device_parse(text(name, 'device'), kind, id))
  return {type = kind[0], id = id[0], name = name_of(C.dlx_device_name, kind[0], id[0])}
end

function M.device_count(name) return C.dlx_device_count(M.parse_device(name).type) end
function M.device_reason(name) return ffi.string(C.dlx_backend_reason(M.parse_device(name).type)) end

local Tensor = {}
M.Tensor = Tensor

-- Fields that are computed: t.shape, t.strides, t.dtype …
local getters = {}
function Tensor.__index(self, key)
  local getter = getters[key]
  if getter then return getter(self) end
  return Tensor[key]
end

local function adopt(handle)
  return setmetatable({handle = ffi.gc(handle, C.dlx_tensor_release)}, Tensor)
end

local function live(tensor)
  if getmetatable(tensor) ~= Tensor then invalid 'dlx: not a tensor' end
  return rawget(tensor, 'handle') or invalid 'dlx: the tensor is closed'
end

-- Runs a call whose last parameter is a new tensor.
local function made(call, ...)
  local out = ffi.new 'dlx_tensor *[1]'
  local values, count = {...}, select('#', ...)
  values[count + 1] = out
  check(call(unpack(values, 1, count + 1)))
  return adopt(out[0])
end

local function options(how)
  how = how or {}
  local copy, order = COPY[how.copy or 'if-needed'], how.order or 'C'
  if not copy or (order ~= 'C' and order ~= 'F') then invalid 'dlx: no such copy mode or order' end
  return ffi.new('dlx_copy_options[1]', {{struct_size = 48, copy = copy, order = order == 'F' and 1 or 0}})
end

-- A new compact tensor, filled with zeros in host memory.
function M.empty(shape, dtype, device)
  local where = M.parse_device(device or 'cpu')
  local extents, ndim = numbers(shape, 'int64_t', 'shape')
  local t = made(C.dlx_tensor_empty, ndim, extents, dtype_of(dtype or 'float32'), where.type, where.id, nil)
  if HOSTS[where.type] then ffi.fill(C.dlx_tensor_data(t.handle), t.nbytes) end
  return t
end

-- A tensor of the numbers in a table, in C order. (dlx owns the memory: Lua's tables have none to share.)
function M.from(values, shape, dtype)
  local t = M.empty(shape or {#values}, dtype or 'float32')
  if t.size ~= #values then
    local size = t.size
    t:close()
    invalid(('dlx.from: `shape` does not fit (got %d numbers, expected %d)'):format(#values, size))
  end
  local elements = t:pointer()
  for i, value in ipairs(values) do elements[i - 1] = value end
  return t
end

-- A new tensor of these bytes, for any dtype.
function M.from_bytes(bytes, dtype, shape)
  local t = M.empty(shape, dtype)
  if t.nbytes ~= #bytes then
    local size = t.nbytes
    t:close()
    invalid(('dlx.from_bytes: got %d bytes, expected %d'):format(#bytes, size))
  end
  ffi.copy(C.dlx_tensor_data(t.handle), bytes, #bytes)
  return t
end

-- A tensor on memory of C at a pointer, which the last user frees by `how.deleter`, a function of C
-- (`void (*)(void *data, void *user_data)`; ffi.C.free fits), on any thread. Without one the memory must stay for
-- ever. how: strides (in elements), readonly, deleter, user_data.
function M.wrap(pointer, shape, dtype, how)
  how = how or {}
  if type(pointer) ~= 'cdata' then invalid 'dlx.wrap: `pointer` is not a pointer of C' end
  if how.deleter and type(how.deleter) ~= 'cdata' then
    invalid 'dlx.wrap: `deleter` is not a function of C: other threads may call it'
  end
  local t = ffi.new 'DLTensor[1]'
  local extents, ndim = numbers(shape, 'int64_t', 'shape')
  local strides, count
  if how.strides then strides, count = numbers(how.strides, 'int64_t', 'strides') end
  if count and count ~= ndim then
    invalid(('dlx.wrap: `strides` has %d numbers (expected %d)'):format(count, ndim))
  end
  t[0].data, t[0].ndim, t[0].shape, t[0].strides = ffi.cast('void *', pointer), ndim, extents, strides
  t[0].device.device_type = constants.kDLCPU
  t[0].dtype = dtype_of(dtype or 'float32')[0]
  local flags = how.readonly and constants.DLPACK_FLAG_BITMASK_READ_ONLY or 0
  local deleter = how.deleter and ffi.cast('dlx_deleter_fn', how.deleter) or nil
  return made(C.dlx_tensor_wrap, t, flags, deleter, how.user_data)
end

-- Imports a DLManagedTensorVersioned * (cdata or an address), which is always consumed.
function M.from_dlpack(managed)
  managed = ffi.cast('DLManagedTensorVersioned *', managed)
  local consumed, out = ffi.new 'int32_t[1]', ffi.new 'dlx_tensor *[1]'
  local status = C.dlx_tensor_from_dlpack_versioned(managed, consumed, out)
  if status == 0 then return adopt(out[0]) end
  local message = ffi.string(C.dlx_last_error())
  if consumed[0] == 0 and managed ~= nil and managed.deleter ~= nil then managed.deleter(managed) end
  fail(status, message)
end

function M.from_legacy_dlpack(managed)
  managed = ffi.cast('DLManagedTensor *', managed)
  local out = ffi.new 'dlx_tensor *[1]'
  local status = C.dlx_tensor_from_dlpack(managed, 0, out)
  if status == 0 then return adopt(out[0]) end
  local message = ffi.string(C.dlx_last_error())
  if managed ~= nil and managed.deleter ~= nil then managed.deleter(managed) end
  fail(status, message)
end

-- Exports the tensor: a DLManagedTensorVersioned *, whose last holder calls its deleter.
function Tensor:to_dlpack()
  local out = ffi.new 'DLManagedTensorVersioned *[1]'
  check(C.dlx_tensor_to_dlpack_versioned(live(self), nil, out))
  return out[0]
end

function Tensor:to_legacy_dlpack()
  local out = ffi.new 'DLManagedTensor *[1]'
  check(C.dlx_tensor_to_dlpack(live(self), nil, out))
  return out[0]
end

local function list(first, count)
  local values = {}
  for i = 1, count do values[i] = tonumber(first[i - 1]) end
  return values
end

function getters.closed(self) return rawget(self, 'handle') == nil end
function getters.ndim(self) return C.dlx_tensor_ndim(live(self)) end
function getters.shape(self) return list(C.dlx_tensor_shape(live(self)), self.ndim) end
function getters.strides(self) return list(C.dlx_tensor_strides(live(self)), self.ndim) end
function getters.dtype(self) return name_of(C.dlx_dtype_name, C.dlx_tensor_dtype(live(self))) end
function getters.size(self) return tonumber(C.dlx_tensor_size(live(self))) end
function getters.nbytes(self) return tonumber(C.dlx_tensor_nbytes(live(self))) end
function getters.readonly(self) return tonumber(C.dlx_tensor_flags(live(self))) % 2 == 1 end
function getters.device(self)
  local handle = live(self)
  return name_of(C.dlx_device_name, C.dlx_tensor_device_type(handle), C.dlx_tensor_device_id(handle))
end

-- Positions count from 0, negative ones from the end; nil is an omitted start or stop.
function Tensor:slice(axis, start, stop, step)
  local open = constants.DLX_SLICE_OPEN
  return made(C.dlx_tensor_slice, live(self), axis_number(axis), integer(start or open, 'start'),
    integer(stop or open, 'stop'), integer(step or 1, 'step'))
end

function Tensor:select(axis, index)
  return made(C.dlx_tensor_select, live(self), axis_number(axis), integer(index, 'index'))
end

function Tensor:permute(axes)
  local array, count = numbers(axes, 'int32_t', 'axes')
  if count ~= self.ndim then
    invalid(('dlx_tensor_permute: `axes` has %d numbers (expected %d)'):format(count, self.ndim))
  end
  return made(C.dlx_tensor_permute, live(self), array)
end

function Tensor:transpose() return made(C.dlx_tensor_permute, live(self), nil) end

function Tensor:squeeze(axes)
  local array, count = numbers(axes or {}, 'int32_t', 'axes')
  return made(C.dlx_tensor_squeeze, live(self), count, count > 0 and array or nil)
end

function Tensor:expand_dims(axis) return made(C.dlx_tensor_expand_dims, live(self), axis_number(axis)) end

function Tensor:broadcast_to(shape)
  local extents, ndim = numbers(shape, 'int64_t', 'shape')
  return made(C.dlx_tensor_broadcast_to, live(self), ndim, extents)
end

function Tensor:bitcast(dtype) return made(C.dlx_tensor_bitcast, live(self), dtype_of(dtype)) end
function Tensor:as_readonly() return made(C.dlx_tensor_as_readonly, live(self)) end
function Tensor:contiguous(how) return made(C.dlx_tensor_contiguous, live(self), options(how)) end
function Tensor:clone() return made(C.dlx_tensor_clone, live(self), nil) end

function Tensor:reshape(shape, how)
  local extents, ndim = numbers(shape, 'int64_t', 'shape')
  return made(C.dlx_tensor_reshape, live(self), ndim, extents, options(how))
end

function Tensor:to_device(name)
  local where = M.parse_device(name)
  return made(C.dlx_tensor_to_device, live(self), where.type, where.id, nil)
end

function Tensor:copy_from(source)
  check(C.dlx_tensor_copy_from(live(self), live(source), nil))
  return self
end

-- Where the elements are, after all checks, as a pointer to their C type.
local function elements(self)
  local handle = live(self)
  if not HOSTS[C.dlx_tensor_device_type(handle)] then
    fail(constants.DLX_ERROR_UNSUPPORTED, 'dlx: the CPU cannot access memory on ' .. self.device)
  end
  local ctype = TYPES[self.dtype] or invalid('dlx: Lua has no numbers of ' .. self.dtype .. ': bitcast() helps')
  check(C.dlx_tensor_synchronize(handle))
  return ffi.cast(ctype .. ' *', C.dlx_tensor_data(handle))
end

local function writable(self)
  if self.readonly then fail(constants.DLX_ERROR_READ_ONLY, 'dlx: the tensor is read-only') end
end

local function offset(self, ...)
  local shape, strides, sum = self.shape, self.strides, 0
  if select('#', ...) ~= #shape then
    invalid(('dlx: the index has %d numbers (expected %d)'):format(select('#', ...), #shape))
  end
  for axis, i in ipairs {...} do
    integer(i, 'index')
    if i < 0 or i >= shape[axis] then
      invalid(('dlx: the index is out of range (got %s on axis %d, which has %d elements)'):format(
        tostring(i), axis - 1, shape[axis]))
    end
    sum = sum + i * strides[axis]
  end
  return sum
end

-- One element; t:set(value, i, j) writes it.
function Tensor:get(...)
  local first = elements(self)
  return first[offset(self, ...)]
end

function Tensor:set(value, ...)
  writable(self)
  local first = elements(self)
  first[offset(self, ...)] = value
end

-- A pointer to the elements of a compact, writable tensor; valid until close(), and while the tensor lives.
function Tensor:pointer()
  writable(self)
  if C.dlx_tensor_is_contiguous(live(self), 0) == 0 then
    invalid 'dlx: the elements are not compact: contiguous() packs them'
  end
  return elements(self)
end

-- A copy of the bytes of all elements in C order.
function Tensor:bytes()
  local host = self:to_device 'cpu'
  local packed = host:contiguous()
  local bytes = packed.nbytes == 0 and '' or ffi.string(C.dlx_tensor_data(packed.handle), packed.nbytes)
  packed:close()
  host:close()
  return bytes
end

-- A table of all elements in C order, from any device.
function Tensor:values()
  local host = self:to_device 'cpu'
  local packed = host:contiguous()
  local first, values = elements(packed), {}
  for i = 1, packed.size do values[i] = first[i - 1] end
  packed:close()
  host:close()
  return values
end

-- Drops the tensor at once; the garbage collector does it later.
function Tensor:close()
  local handle = rawget(self, 'handle')
  if handle then
    self.handle = nil
    C.dlx_tensor_release(ffi.gc(handle, nil))
  end
end

function Tensor:__tostring()
  if self.closed then return 'Tensor(closed)' end
  local words = self.readonly and ', read-only' or ''
  return ('Tensor(%s, {%s}, %s%s)'):format(self.dtype, table.concat(self.shape, ', '), self.device, words)
end

-- M.func(address, contract): a function of C with a contract.
M.func = require 'dlx.functions' {
  C = C, check = check, invalid = invalid, adopt = adopt, live = live, Tensor = Tensor,
}

return M
