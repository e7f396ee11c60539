-- The filters called from LuaJIT.
-- Run: LUA_PATH='.../bindings/lua/?.lua;.../bindings/lua/?/init.lua' luajit use.lua ./libfilter.so
local ffi = require 'ffi'
local dlx = require 'dlx'

ffi.cdef [[
  dlx_status filter_blur_packed(void *context, const dlx_argument *arguments);
  dlx_status filter_brighten_packed(void *context, const dlx_argument *arguments);
]]
local filter = ffi.load(arg[1])
-- As filter.h has them.
local blur = dlx.func(filter.filter_blur_packed, 'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)')
local brighten =
  dlx.func(filter.filter_brighten_packed, 'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)')

local image = dlx.from({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110}, {3, 4}, 'uint8')
local blurred = blur(image)
print(table.concat(blurred:values(), ' '))
brighten(image:slice(1, 3)) -- the last column, in place
print(table.concat(image:values(), ' '))

print(select(2, pcall(blur, image:reshape {12})))
print(select(2, pcall(blur, image, -1)))

local managed = blurred:to_dlpack() -- for any library that takes DLPack
blurred:close() -- `managed` keeps the memory
local taken = dlx.from_dlpack(managed)
print(('(%s): %s'):format(table.concat(taken.shape, ', '), table.concat(taken:select(0, 0):values(), ' ')))
taken:close()
