# The filters called from R. Run: Rscript use.R ./libfilter.so
library(dlx)

path <- commandArgs(trailingOnly = TRUE)
# As filter.h has them.
blur <- dlx_load(path, "filter_blur_packed", "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)")
brighten <- dlx_load(path, "filter_brighten_packed",
                     "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)")

pixels <- matrix(as.raw(10 * (0:11)), 3, 4, byrow = TRUE)
# R's memory is read-only: a copy, compact by rows.
image <- dlx_copy(dlx_tensor(pixels))
blurred <- blur(image)
cat(as.vector(blurred), "\n")
brighten(dlx_slice(image, 1, 3)) # the last column, in place
cat(as.vector(image), "\n")

show_error <- function(code) tryCatch(code, dlx_error = function(e) cat(conditionMessage(e), "\n", sep = ""))
show_error(blur(dlx_reshape(image, 12)))
show_error(blur(image, -1))

managed <- dlx_to_dlpack(blurred) # for any library that takes DLPack
dlx_close(blurred) # `managed` keeps the memory
taken <- dlx_from_dlpack(managed)
cat("(", paste(dim(taken), collapse = ", "), "): ", paste(head(as.vector(taken), 4), collapse = " "), "\n", sep = "")
dlx_close(taken)
