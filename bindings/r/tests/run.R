# The conformance file (bindings/conformance), which every language runs, and the tests of this package.
library(dlx)

failures <- 0
count <- 0
test <- function(name, code) {
  count <<- count + 1
  error <- tryCatch({ force(code); NULL }, error = function(e) e)
  if (!is.null(error)) {
    failures <<- failures + 1
    cat("FAILED", name, ":", conditionMessage(error), "\n")
  }
}

nums <- function(word) if (word == "-") numeric() else as.numeric(strsplit(word, ",")[[1]])
bytes <- function(word) if (word == "-") raw() else as.raw(strtoi(substring(word, seq(1, nchar(word), 2), seq(2, nchar(word), 2)), 16))
open <- function(word) if (word == "_") NULL else as.numeric(word)
lst <- function(values) if (length(values)) paste(format(values, scientific = FALSE, trim = TRUE), collapse = ",") else "-"
copy_mode <- function(w) if ("never" %in% w) "never" else "if_needed"

# Another library, in C (foreign.c): built where its object is not in the way.
folder <- file.path(tempdir(), "foreign")
invisible(dir.create(folder))
source_file <- file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "foreign.c")
invisible(file.copy(source_file, folder))
flags <- system2("pkg-config", c("--cflags", "dlx"), stdout = TRUE)
built <- system2("cc", c("-shared", "-fPIC", flags, file.path(folder, "foreign.c"), "-o", file.path(folder, "foreign.so"), "-lpthread"))
stopifnot(built == 0)
dyn.load(file.path(folder, "foreign.so"))
foreign <- function(field, values) .C("foreign_make", field, as.double(c(values, 0)), address = 0)$address
deleted <- function() .C("foreign_deleted", 0L)[[1]]
foreigners <- 0
# The file's tensors are writable, and R's memory is read-only: copies.
tensor <- function(dtype, shape, data) {
  if (data == "-") return(dlx_empty(nums(shape), dtype))
  dlx_copy(dlx_bytes(bytes(data), dtype, nums(shape)))
}

step <- function(t, w) {
  switch(w[1],
    tensor = tensor(w[2], w[3], w[4]),
    foreign = { foreigners <<- foreigners + 1; dlx_from_dlpack(foreign(w[2], nums(w[3]))) },
    permute = dlx_permute(t, if (length(w) > 1) nums(w[2])),
    slice = dlx_slice(t, as.numeric(w[2]), open(w[3]), open(w[4]), as.numeric(w[5])),
    select = dlx_select(t, as.numeric(w[2]), as.numeric(w[3])),
    squeeze = dlx_squeeze(t, as.numeric(w[-1])),
    expand_dims = dlx_expand_dims(t, as.numeric(w[2])),
    broadcast_to = dlx_broadcast(t, nums(w[2])),
    bitcast = dlx_bitcast(t, w[2]),
    as_readonly = dlx_readonly(t),
    contiguous = dlx_contiguous(t, copy_mode(w), if ("F" %in% w) "F" else "C"),
    clone = dlx_copy(t),
    reshape = dlx_reshape(t, nums(w[2]), copy_mode(w)),
    to_device = dlx_to_device(t, w[2]),
    dlpack = dlx_from_dlpack(dlx_to_dlpack(t)),
    legacy = dlx_from_legacy(dlx_to_legacy(t)),
    copy_from = dlx_copy_from(t, tensor(w[2], w[3], w[4])),
    wrap = dlx_bytes(bytes(w[6]), w[2], nums(w[3]), nums(w[4]), as.numeric(w[5])),
    stop("no operation ", w[1]))
}

outcome <- function(operations) {
  tryCatch({
    t <- NULL
    for (w in strsplit(operations, " ")) {
      if (w[1] == "parse_dtype") return(paste(c("is", unlist(dlx_dtype(w[2]))), collapse = " "))
      if (w[1] == "parse_device") return(paste(c("is", unlist(dlx_device(w[2]))), collapse = " "))
      t <- step(t, w)
    }
    about <- dlx_info(t)
    data <- paste(as.character(dlx_raw(t)), collapse = "")
    c(paste("dtype", about$dtype), paste("shape", lst(about$shape)), paste("strides", lst(about$strides)),
      paste("readonly", as.integer(about$readonly)), paste("bytes", if (nchar(data)) data else "-"))
  }, dlx_error = function(e) paste("error", e$status, conditionMessage(e)))
}

text <- readLines(Sys.getenv("DLX_CONFORMANCE", "../../conformance/cases.txt"))
for (lines in split(text, cumsum(text == ""))) {
  lines <- lines[lines != ""]
  if (!startsWith(lines[1], "case ")) next
  is_check <- sub(" .*", "", lines) %in% c("dtype", "shape", "strides", "readonly", "bytes", "is", "error")
  operations <- lines[!is_check][-1]
  if (any(grepl("9223372036854775807|9223372036854775808", operations))) next # doubles have no such integer
  expected <- lines[is_check]
  # R's memory is read-only.
  if (startsWith(operations[1], "wrap")) expected <- sub("readonly 0", "readonly 1", expected)
  test(lines[1], stopifnot(identical(outcome(operations), expected)))
}
stopifnot(count > 75)
invisible(gc())
invisible(gc())
test("each deleter runs once", stopifnot(foreigners > 10, deleted() == foreigners))

fails <- function(code, call) {
  error <- tryCatch({ force(call); NULL }, dlx_error = function(e) e)
  if (is.null(error) || error$code != paste0("DLX_ERROR_", code)) stop("not ", code, ": ", conditionMessage(error))
}

test("the memory is shared", {
  x <- array(as.double(0:5), c(2, 3))
  t <- dlx_tensor(x)
  back <- dlx_from_dlpack(dlx_to_dlpack(dlx_permute(t)))
  stopifnot(dlx_address(back) == dlx_address(t), identical(as.array(back), t(x)), identical(as.array(t), x))
  x[1, 1] <- 9 # R copies: the tensor keeps its elements
  stopifnot(dlx_get(t, 0, 0) == 0, dlx_get(t, 1, 2) == 5)
})

test("the last user releases, once", {
  t <- dlx_tensor(c(1, 2, 3))
  managed <- dlx_to_dlpack(t)
  stopifnot(dlx_close(t) == 0, dlx_close(t) == 0)
  back <- dlx_from_dlpack(managed)
  stopifnot(dlx_close(back) == 1)
  gc()
  dlx_close(NULL) # those of other tests
  (function() dlx_to_dlpack(dlx_tensor(1:3)))() # nobody takes it
  gc()
  gc()
  stopifnot(dlx_close(NULL) == 1)
})

test("a foreign tensor is shared, and deleted once", {
  before <- deleted()
  t <- dlx_from_dlpack(foreign("minor", 0))
  columns <- dlx_permute(t)
  dlx_set(t, 9, 1, 2)
  stopifnot(dlx_get(columns, 2, 1) == 9)
  dlx_close(t)
  stopifnot(deleted() == before)
  dlx_close(columns)
  stopifnot(deleted() == before + 1)
})

test("a foreign thread is the last user", {
  dlx_close(NULL)
  t <- dlx_tensor(c(1, 2, 3))
  managed <- dlx_to_dlpack(t, as_address = TRUE)
  stopifnot(dlx_close(t) == 0)
  .C("foreign_drop", managed)
  stopifnot(dlx_close(NULL) == 1) # given back by the next call
})

test("elements", {
  for (dtype in c("float64", "float32", "int32", "int16", "uint8")) {
    t <- dlx_empty(c(2, 3), dtype)
    dlx_set(dlx_permute(t), 7, 2, 1)
    stopifnot(dlx_get(t, 1, 2) == 7, identical(dim(as.array(t)), c(2L, 3L)))
  }
  stopifnot(format(t) == "Tensor(uint8, (2, 3), cpu)", identical(as.array(dlx_tensor(1:3)), array(1:3, 3)))
})

test("bad input is an error", {
  t <- dlx_tensor(array(as.double(0:5), c(2, 3)))
  fails("INVALID_ARGUMENT", dlx_get(t, 2, 0))
  fails("INVALID_ARGUMENT", dlx_get(t, 0))
  fails("INVALID_ARGUMENT", dlx_permute(t, 0))
  fails("INVALID_ARGUMENT", dlx_select(t, 0.5, 0))
  fails("INVALID_ARGUMENT", dlx_select(t, 2^40, 0))
  fails("INVALID_ARGUMENT", dlx_select(t, "0", 0))
  fails("INVALID_ARGUMENT", dlx_select(t, NA, 0))
  fails("INVALID_ARGUMENT", dlx_bitcast(t, "float31"))
  fails("INVALID_ARGUMENT", dlx_bitcast(t, NULL))
  fails("INVALID_ARGUMENT", dlx_contiguous(t, "sometimes"))
  fails("INVALID_ARGUMENT", dlx_tensor("x"))
  fails("INVALID_ARGUMENT", dlx_from_dlpack(0))
  fails("INVALID_ARGUMENT", dlx_from_legacy(dlx_to_dlpack(t)))
  fails("INVALID_ARGUMENT", dlx_bytes(raw(3), "int16", 2))
  fails("INVALID_ARGUMENT", dlx_copy_from(dlx_empty(2), 1))
  fails("COPY_REFUSED", dlx_contiguous(t, "never"))
  fails("READ_ONLY", dlx_set(t, 1, 0, 0))
  fails("READ_ONLY", dlx_copy_from(t, t))
  dlx_close(t)
  for (use in list(dlx_permute, dlx_to_dlpack, dlx_raw, dlx_info, as.array)) fails("INVALID_ARGUMENT", use(t))
  stopifnot(format(t) == "Tensor(closed)")
})

# Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).
library_of_filters <- Sys.getenv("DLX_FILTER")
if (nzchar(library_of_filters)) {
  blur <- dlx_load(library_of_filters, "filter_blur_packed",
                   "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)")
  brighten <- dlx_load(library_of_filters, "filter_brighten_packed",
                       "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)")
  image <- dlx_copy(dlx_bytes(as.raw(10 * (0:11)), "uint8", c(3, 4)))
  refused <- function(words, call) {
    error <- tryCatch({ force(call); NULL }, dlx_error = conditionMessage)
    if (!identical(error, words)) stop("got ", error)
  }

  test("functions return tensors", {
    stopifnot(identical(as.vector(blur(image)), c(25L, 30L, 40L, 45L, 45L, 50L, 60L, 65L, 65L, 70L, 80L, 85L)),
              identical(dlx_raw(blur(image, 0)), dlx_raw(image)), is.null(brighten(dlx_slice(image, 1, 3))),
              identical(as.vector(image), c(0L, 10L, 20L, 45L, 40L, 50L, 60L, 105L, 80L, 90L, 100L, 165L)))
  })

  test("functions refuse what does not fit", {
    refused("blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))", blur(dlx_reshape(image, 12)))
    refused("blur: `radius` is negative (got -1)", blur(image, -1))
    refused("blur: `image` is missing", blur())
    refused("blur: it takes 2 arguments (got 3)", blur(image, 1, 2))
    refused("blur: `radius` is not one integer", blur(image, 1.5))
    refused("blur: `image` is not a tensor", blur(1))
    refused("brighten: `factor` is not one number", brighten(image, "2"))
    fails("READ_ONLY", brighten(dlx_readonly(image)))
    fails("INVALID_ARGUMENT", dlx_load(library_of_filters, "filter_blur_packed", "blur(image: uint9[h])"))
    fails("INVALID_ARGUMENT", dlx_function(1, "f()"))
    dlx_close(image)
    fails("INVALID_ARGUMENT", blur(image))
  })
}

cat(count, "tests,", failures, "failed\n")
quit(status = as.integer(failures > 0))
