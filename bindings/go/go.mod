module libdlx.example/dlx

go 1.19
