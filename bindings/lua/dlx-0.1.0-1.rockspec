rockspec_format = "3.0"
package = "dlx"
version = "0.1.0-1"
source = {url = "git+file://."}
description = {
  summary = "Tensors shared between libraries and languages without copies, by DLPack",
  license = "Apache-2.0",
}
dependencies = {"luajit >= 2.1"}
build = {
  type = "builtin",
  modules = {dlx = "dlx/init.lua", ["dlx.functions"] = "dlx/functions.lua", ["dlx.generated"] = "dlx/generated.lua"},
}
