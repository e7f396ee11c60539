-- The conformance file (bindings/conformance), which every language runs, and the tests of this package.
-- The other library of these tests has a deleter in Lua, which compiled code cannot call.
jit.off()
local here = arg[0]:match '^(.*)/test/' or '.'
package.path = here .. '/?.lua;' .. here .. '/?/init.lua;' .. package.path
local ffi = require 'ffi'
local dlx = require 'dlx'
local failures, count, deleted = 0, 0, 0

local function test(name, run)
  count = count + 1
  local done, err = pcall(run)
  if not done then
    failures = failures + 1
    print(('FAILED %s: %s'):format(name, tostring(err)))
  end
end

local function numbers(word)
  local values = {}
  if word ~= '-' then
    for n in word:gmatch '[^,]+' do values[#values + 1] = #n > 15 and loadstring('return ' .. n .. 'LL')() or tonumber(n) end
  end
  return values
end

local function bytes(word)
  return (word:gsub('-', ''):gsub('%x%x', function(digits) return string.char(tonumber(digits, 16)) end))
end

local function open(word) return word ~= '_' and tonumber(word) or nil end
local function list(values) return #values > 0 and table.concat(values, ',') or '-' end

local function how(...)
  local words = table.concat({...}, ' ')
  return {copy = words:find 'never' and 'never' or nil, order = words:find 'F' and 'F' or nil}
end

-- A managed tensor of another library, float32 (2, 3), with one field changed.
local kept = {}
local deleter = ffi.cast('void (*)(DLManagedTensorVersioned *)', function() deleted = deleted + 1 end)
local function foreign(field, word)
  local m = ffi.new 'DLManagedTensorVersioned[1]'
  local shape, strides = ffi.new('int64_t[2]', 2, 3), ffi.new('int64_t[2]', 3, 1)
  local data, t, values = ffi.new('float[6]', 0, 1, 2, 3, 4, 5), m[0].dl_tensor, numbers(word)
  kept[#kept + 1] = {m, shape, strides, data}
  m[0].version.major, m[0].deleter = 1, deleter
  t.data, t.ndim, t.shape, t.strides = data, 2, shape, strides
  t.device.device_type = 1
  t.dtype.code, t.dtype.bits, t.dtype.lanes = 2, 32, 1
  if field == 'major' then m[0].version.major = values[1] end
  if field == 'flags' then m[0].flags = values[1] end
  if field == 'ndim' then t.ndim = values[1] end
  if field == 'shape' then shape[0], shape[1] = values[1], values[2] end
  if field == 'strides' then strides[0], strides[1] = values[1], values[2] end
  if field == 'data' then t.data = nil end
  if field == 'code' or field == 'bits' or field == 'lanes' then t.dtype[field] = values[1] end
  if field == 'device_type' then t.device.device_type = values[1] end
  return m
end

local function tensor(dtype, shape, data) return dlx.from_bytes(bytes(data), dtype, numbers(shape)) end

-- Memory of Lua, which cannot have a deleter: it outlives the tensor.
local function wrap(dtype, shape, strides, start, data)
  local memory = ffi.new('uint8_t[?]', #data / 2, bytes(data):byte(1, -1))
  local t = ffi.new 'DLTensor[1]'
  local extents, steps = ffi.new('int64_t[8]', numbers(shape)), ffi.new('int64_t[8]', numbers(strides))
  local d = dlx.parse_dtype(dtype)
  t[0].data, t[0].ndim, t[0].shape, t[0].strides = memory + tonumber(start), #numbers(shape), extents, steps
  t[0].device.device_type = 1
  t[0].dtype.code, t[0].dtype.bits, t[0].dtype.lanes = d.code, d.bits, d.lanes
  kept[#kept + 1] = memory
  local out = ffi.new 'dlx_tensor *[1]'
  assert(dlx.C.dlx_tensor_wrap(t, 0, nil, nil, out) == 0)
  local managed = ffi.new 'DLManagedTensorVersioned *[1]'
  local share = ffi.new('dlx_export_options[1]', {{struct_size = 64, copy = 2}})
  assert(dlx.C.dlx_tensor_to_dlpack_versioned(out[0], share, managed) == 0)
  dlx.C.dlx_tensor_release(out[0])
  return dlx.from_dlpack(managed[0])
end

local OPERATIONS = {
  tensor = function(_, ...) return tensor(...) end,
  wrap = function(_, ...) return wrap(...) end,
  foreign = function(_, ...) return dlx.from_dlpack(foreign(...)) end,
  permute = function(t, axes) return axes and t:permute(numbers(axes)) or t:transpose() end,
  slice = function(t, axis, start, stop, step) return t:slice(tonumber(axis), open(start), open(stop), tonumber(step)) end,
  select = function(t, axis, index) return t:select(tonumber(axis), tonumber(index)) end,
  squeeze = function(t, axis) return t:squeeze(axis and numbers(axis)) end,
  expand_dims = function(t, axis) return t:expand_dims(tonumber(axis)) end,
  broadcast_to = function(t, shape) return t:broadcast_to(numbers(shape)) end,
  bitcast = function(t, dtype) return t:bitcast(dtype) end,
  as_readonly = function(t) return t:as_readonly() end,
  contiguous = function(t, ...) return t:contiguous(how(...)) end,
  clone = function(t) return t:clone() end,
  reshape = function(t, shape, ...) return t:reshape(numbers(shape), how(...)) end,
  to_device = function(t, name) return t:to_device(name) end,
  dlpack = function(t) return dlx.from_dlpack(t:to_dlpack()) end,
  legacy = function(t) return dlx.from_legacy_dlpack(t:to_legacy_dlpack()) end,
  copy_from = function(t, ...) return t:copy_from(tensor(...)) end,
}

local function outcome(operations)
  local t
  for _, words in ipairs(operations) do
    local verb = table.remove(words, 1)
    if verb == 'parse_dtype' then
      local d = dlx.parse_dtype(words[1])
      return ('is %d %d %d %s'):format(d.code, d.bits, d.lanes, d.name)
    elseif verb == 'parse_device' then
      local d = dlx.parse_device(words[1])
      return ('is %d %d %s'):format(d.type, d.id, d.name)
    end
    t = OPERATIONS[verb](t, unpack(words))
  end
  local data = t:bytes():gsub('.', function(byte) return ('%02x'):format(byte:byte()) end)
  return table.concat({
    'dtype ' .. t.dtype, 'shape ' .. list(t.shape), 'strides ' .. list(t.strides),
    'readonly ' .. (t.readonly and 1 or 0), 'bytes ' .. (data ~= '' and data or '-'),
  }, '\n')
end

local CHECKS = {dtype = 1, shape = 1, strides = 1, readonly = 1, bytes = 1, is = 1, error = 1}
local file = assert(io.open(os.getenv 'DLX_CONFORMANCE' or here .. '/../conformance/cases.txt'))
local text, foreigners = file:read '*a' .. '\n', 0
for name, body in text:gmatch 'case ([^\n]*)\n(.-)\n\n' do
  local operations, expected = {}, {}
  for line in (body .. '\n'):gmatch '(.-)\n' do
    local words = {}
    for word in line:gmatch '%S+' do words[#words + 1] = word end
    if CHECKS[words[1]] then expected[#expected + 1] = line else operations[#operations + 1] = words end
    if words[1] == 'foreign' then foreigners = foreigners + 1 end
  end
  test(name, function()
    local done, got = pcall(outcome, operations)
    if not done then got = ('error %s %s'):format(got.status, got.message) end
    local want = table.concat(expected, '\n')
    if got ~= want then error(('got\n%s\nwant\n%s'):format(got, want)) end
  end)
end
assert(count > 80, count)
collectgarbage()
collectgarbage()
test('each deleter runs once', function() assert(deleted == foreigners, deleted) end)

local function fails(code, call, ...)
  local done, err = pcall(call, ...)
  assert(not done and type(err) == 'table' and err.code == 'DLX_ERROR_' .. code, tostring(err))
end

test('the last user releases, once', function()
  local before = deleted
  local t = dlx.from_dlpack(foreign('minor', '0'))
  local view = t:transpose()
  local managed = view:to_dlpack()
  t:close()
  t:close()
  view:close()
  assert(deleted == before)
  dlx.from_dlpack(managed):close()
  assert(deleted == before + 1)
end)

test('memory of C is wrapped, and freed by its deleter', function()
  local count, freed = 0, nil
  local deleter = ffi.cast('dlx_deleter_fn', function(data) count, freed = count + 1, data end)
  local memory = ffi.new('float[6]', 0, 1, 2, 3, 4, 5)
  local t = dlx.wrap(memory, {2, 3}, 'float32', {deleter = deleter, strides = {1, 2}})
  local view = t:transpose()
  t:close()
  memory[5] = 9
  assert(view:get(2, 1) == 9 and count == 0 and not view.readonly)
  view:close()
  assert(count == 1 and freed == ffi.cast('void *', memory))
  ffi.cdef 'void *malloc(size_t); void free(void *);'
  for _ = 1, 100 do
    dlx.from_dlpack(dlx.wrap(ffi.C.malloc(24), {6}, nil, {deleter = ffi.C.free, readonly = true}):to_dlpack()):close()
  end
  fails('INVALID_ARGUMENT', dlx.wrap, memory, {-1}, 'float32', {deleter = deleter})
  fails('INVALID_ARGUMENT', dlx.wrap, memory, {6}, 'float32', {deleter = print})
  fails('INVALID_ARGUMENT', dlx.wrap, memory, {6}, 'float32', {strides = {1, 1}})
  fails('INVALID_ARGUMENT', dlx.wrap, {}, {6})
  assert(count == 1)
  deleter:free()
end)

test('elements', function()
  for _, dtype in ipairs {'int8', 'uint16', 'int64', 'float32', 'float64'} do
    local t = dlx.from({1, 2, 3, 4, 5, 6}, {2, 3}, dtype)
    t:transpose():set(9, 2, 1)
    assert(t:get(1, 2) == 9 and t:pointer()[5] == 9)
  end
  assert(tostring(dlx.from {1, 2}) == 'Tensor(float32, {2}, cpu)')
end)

test('bad input is an error', function()
  local t = dlx.from({1, 2, 3, 4, 5, 6}, {2, 3})
  local columns, readonly = t:transpose(), t:as_readonly()
  fails('INVALID_ARGUMENT', t.get, t, 2, 0)
  fails('INVALID_ARGUMENT', t.get, t, 0)
  fails('INVALID_ARGUMENT', t.get, t, 0.5, 0)
  fails('INVALID_ARGUMENT', t.permute, t, {0})
  fails('INVALID_ARGUMENT', t.permute, t, 'x')
  fails('INVALID_ARGUMENT', t.select, t, 'x', 0)
  fails('INVALID_ARGUMENT', t.select, t, 2 ^ 40, 0)
  fails('INVALID_ARGUMENT', t.bitcast, t, 'float31')
  fails('INVALID_ARGUMENT', t.bitcast, t, 'float32\0')
  fails('INVALID_ARGUMENT', t.bitcast, t, nil)
  fails('INVALID_ARGUMENT', columns.pointer, columns)
  fails('INVALID_ARGUMENT', dlx.from, {1, 2, 3}, {2})
  fails('INVALID_ARGUMENT', dlx.from_bytes, 'x', 'int16', {1})
  fails('INVALID_ARGUMENT', dlx.from_dlpack, nil)
  fails('INVALID_ARGUMENT', t.copy_from, t, {})
  fails('COPY_REFUSED', columns.contiguous, columns, {copy = 'never'})
  fails('READ_ONLY', readonly.set, readonly, 1, 0, 0)
  fails('READ_ONLY', readonly.copy_from, readonly, t)
  t:close()
  for _, use in ipairs {'transpose', 'to_dlpack', 'bytes', 'values', 'get', 'pointer'} do
    fails('INVALID_ARGUMENT', t[use], t)
  end
  assert(t.closed and tostring(t) == 'Tensor(closed)')
end)

-- Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).
local function image()
  local pixels = {}
  for i = 1, 12 do pixels[i] = 10 * (i - 1) end
  return dlx.from(pixels, {3, 4}, 'uint8')
end

local path = os.getenv 'DLX_FILTER'
if path then
  ffi.cdef [[
    dlx_status filter_blur_packed(void *, const dlx_argument *);
    dlx_status filter_brighten_packed(void *, const dlx_argument *);
  ]]
  local filter = ffi.load(path)
  local blur = dlx.func(filter.filter_blur_packed, 'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)')
  local brighten =
    dlx.func(filter.filter_brighten_packed, 'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)')

  test('functions return tensors', function()
    assert(table.concat(blur(image()):values(), ' ') == '25 30 40 45 45 50 60 65 65 70 80 85')
    assert(blur(image(), 0):get(2, 3) == 110 and blur:call(image(), 0LL):get(0, 1) == 10)
    local picture = image()
    assert(brighten(picture:slice(1, 3)) == nil)
    assert(table.concat(picture:values(), ' ') == '0 10 20 45 40 50 60 105 80 90 100 165')
  end)

  test('functions refuse what does not fit', function()
    local function words(expected, call, ...)
      local done, err = pcall(call, ...)
      assert(not done and tostring(err) == expected, tostring(err))
    end
    words('blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))', blur, image():reshape {12})
    words('blur: `radius` is negative (got -1)', blur, image(), -1)
    words('blur: `image` is missing', blur)
    words('blur: it takes 2 arguments (got 3)', blur, image(), 1, 2)
    words('blur: `radius` is not an integer', blur, image(), 1.5)
    words('blur: `image` is not a tensor', blur, {})
    words('brighten: `factor` is not a number', brighten, image(), '2')
    fails('READ_ONLY', brighten, image():as_readonly())
    fails('INVALID_ARGUMENT', dlx.func, filter.filter_blur_packed, 'blur(image: uint9[h])')
    fails('INVALID_ARGUMENT', dlx.func, filter.filter_blur_packed, nil)
    fails('INVALID_ARGUMENT', dlx.func, nil, 'f()')
    local closed = image()
    closed:close()
    fails('INVALID_ARGUMENT', blur, closed)
  end)
end

print(('%d tests, %d failed'):format(count, failures))
os.exit(failures == 0)
