-- dlx from LuaJIT: share a matrix by DLPack.
-- Run: LUA_PATH='.../bindings/lua/?.lua;.../bindings/lua/?/init.lua' luajit share.lua
local dlx = require 'dlx'

local matrix = dlx.from({0, 1, 2, 3, 4, 5}, {2, 3})
local _, err = pcall(matrix.select, matrix, 0, 9)
print(err)
local columns = matrix:transpose() -- a view
local managed = columns:to_dlpack() -- for any library that takes DLPack
matrix:close()
columns:close() -- `managed` keeps the memory

local taken = dlx.from_dlpack(managed)
print(('(%s): %s'):format(table.concat(taken.shape, ', '), table.concat(taken:values(), ' ')))
taken:close()
