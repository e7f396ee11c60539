-- Prints the nanoseconds of an exchange and of a copy. The memory is dlx's.
local dlx = require 'dlx'

local function time(count, call)
  local best = math.huge
  for _ = 1, 6 do
    local start = os.clock()
    for _ = 1, count do call() end
    best = math.min(best, (os.clock() - start) / count * 1e9)
  end
  return best
end

local exchange = time(5000, function()
  local tensor = dlx.empty({2, 3}, 'float32')
  local managed = tensor:to_dlpack()
  tensor:close()
  managed.deleter(managed)
end)
local columns, packed = dlx.empty({512, 512}):transpose(), dlx.empty {512, 512}
dlx.C.dlx_set_num_threads(1) -- os.clock() adds the time of all threads
print(('%.0f %.0f'):format(exchange, time(100, function() packed:copy_from(columns) end)))
