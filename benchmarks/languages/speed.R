# Prints the nanoseconds of an exchange and of a copy.
library(dlx)

time <- function(count, call) {
  rounds <- replicate(6, system.time(for (i in seq_len(count)) call())[["elapsed"]])
  round(min(rounds) / count * 1e9)
}

small <- array(as.double(0:5), c(2, 3))
exchange <- time(5000, function() {
  t <- dlx_tensor(small)
  managed <- dlx_to_dlpack(t)
  dlx_close(t)
  dlx_close(dlx_from_dlpack(managed))
})
columns <- dlx_permute(dlx_empty(c(512, 512), "float32"))
packed <- dlx_empty(c(512, 512), "float32")
cat(exchange, time(500, function() dlx_copy_from(packed, columns)), "\n")
