-- Functions of C that have a contract (dlx/call.h).
local ffi = require 'ffi'
local constants = require 'dlx.generated'
local KINDS = {[0] = 'a tensor', 'an integer', 'a number', 'a boolean', 'a string without zero bytes'}

-- `base` is what dlx/init.lua has: C, check, invalid, adopt, live, Tensor.
return function(base)
  local C, check = base.C, base.check
  local Function = {}
  Function.__index = Function

  local function describe(contract, index)
    local p = ffi.new('dlx_parameter', {struct_size = ffi.sizeof 'dlx_parameter'})
    check(C.dlx_contract_parameter(contract, index, p))
    local flags = tonumber(p.flags)
    local result = bit.band(flags, constants.DLX_PARAMETER_RESULT) ~= 0
    return {
      kind = p.kind, name = ffi.string(p.name), index = index, default = p.default_value, result = result,
      optional = bit.band(flags, constants.DLX_PARAMETER_OPTIONAL) ~= 0,
      passed = not result and p.kind ~= constants.DLX_PARAMETER_STREAM,
    }
  end

  -- A function of C, as ffi.load has it or any pointer, that takes the tensors that fit its contract:
  -- 'blur(image: uint8[h, w], out: uint8[h, w] result)'. f:call(…) or f(…); nil is a default.
  local function new(address, contract)
    if type(contract) ~= 'string' or contract:find '%z' then
      base.invalid 'dlx: the contract is not a string without zero bytes'
    end
    if type(address) ~= 'cdata' or address == nil then base.invalid 'dlx: not the address of a function' end
    local out = ffi.new 'dlx_contract *[1]'
    check(C.dlx_contract_create(contract, out))
    local self = setmetatable({contract = ffi.gc(out[0], C.dlx_contract_release), passed = 0, results = 0}, Function)
    self.name = ffi.string(C.dlx_contract_name(out[0]))
    self.address = ffi.cast('dlx_function', address)
    self.kept = address -- a callback of Lua
    for i = 1, C.dlx_contract_count(out[0]) do
      local p = describe(out[0], i - 1)
      self[i] = p
      if p.passed then self.passed = self.passed + 1 end
      if p.result then self.results = self.results + 1 end
    end
    return self
  end

  local function wrong(self, ...) base.invalid(('%s: %s'):format(self.name, (...):format(select(2, ...)))) end

  local function put(self, p, argument, tensors, values)
    local kind = type(argument)
    if p.kind == 0 and getmetatable(argument) == base.Tensor then
      tensors[p.index] = base.live(argument)
    elseif p.kind == 1 and tonumber(argument) and kind ~= 'string' and tonumber(argument) % 1 == 0 then
      values[p.index].integer = argument
    elseif p.kind == 2 and kind == 'number' then
      values[p.index].real = argument
    elseif p.kind == 3 and kind == 'boolean' then
      values[p.index].integer = argument and 1 or 0
    elseif p.kind == 4 and kind == 'string' and not argument:find '%z' then
      values[p.index].text = argument -- anchored by the caller's arguments
    else
      wrong(self, '`%s` is not %s', p.name, KINDS[p.kind])
    end
  end

  function Function:call(...)
    local given, count = {...}, select('#', ...)
    if count > self.passed then wrong(self, 'it takes %d arguments (got %d)', self.passed, count) end
    local tensors, values = ffi.new('dlx_tensor *[?]', #self + 1), ffi.new('dlx_argument[?]', #self + 1)
    local at = 0
    for _, p in ipairs(self) do
      if p.passed then
        at = at + 1
        if given[at] ~= nil then
          put(self, p, given[at], tensors, values)
        elseif p.optional then
          values[p.index] = p.default
        else
          wrong(self, '`%s` is missing', p.name)
        end
      end
    end
    local out = ffi.new('dlx_tensor *[?]', self.results + 1)
    check(C.dlx_contract_call(self.contract, self.address, nil, tensors, values, out))
    local results = {}
    for i = 1, self.results do results[i] = base.adopt(out[i - 1]) end
    return unpack(results)
  end

  Function.__call = Function.call
  return new
end
