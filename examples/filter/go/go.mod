module filter.example

go 1.19

require libdlx.example/dlx v0.0.0

replace libdlx.example/dlx => ../../../bindings/go
