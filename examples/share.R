# dlx from R: share a matrix by DLPack. Run: Rscript share.R
library(dlx)

matrix <- dlx_tensor(t(array(as.double(0:5), c(3, 2))))
tryCatch(dlx_select(matrix, 0, 9), dlx_error = function(e) cat(conditionMessage(e), "\n", sep = ""))
columns <- dlx_permute(matrix) # a view
managed <- dlx_to_dlpack(columns) # for any library that takes DLPack
dlx_close(matrix)
dlx_close(columns) # `managed` keeps the memory

taken <- dlx_from_dlpack(managed)
cat("(", paste(dim(taken), collapse = ", "), "): ", paste(as.vector(taken), collapse = " "), "\n", sep = "")
dlx_close(taken)
