rockspec_format = "3.0"
package = "dlx"
version = "0.1.0-1"
source = {url = "git+file://."}
description = {
  summary = "Tensors shared between libraries and languages without copies, by DLPack",
  license = "Apache-2.0",
}
dependencies = {"lua == 5.1"} -- LuaJIT; LuaRocks knows that name only where it was set up for LuaJIT
build = {
  type = "builtin",
  modules = {dlx = "dlx/init.lua", ["dlx.functions"] = "dlx/functions.lua", ["dlx.generated"] = "dlx/generated.lua"},
}
