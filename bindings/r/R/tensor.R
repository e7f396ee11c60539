# Tensors: external pointers of class dlx_tensor. Axes, positions and indices count from 0, as in all
# languages of dlx; the first axis of an array of R varies fastest, which strides express.

fail <- function(status, message) {
  code <- .Call(r_status_name, status)
  stop(structure(class = c("dlx_error", "error", "condition"),
                 list(message = message, call = NULL, status = status, code = code)))
}

invalid <- function(message) fail(1L, message)

# The result of a call, which is a list without "ok" if it failed.
check <- function(result) {
  if (is.list(result) && is.null(attr(result, "ok"))) fail(result[[1]], result[[2]])
  attr(result, "ok") <- NULL
  result
}

made <- function(result) if (inherits(result, "dlx_tensor")) result else check(result)

whole <- function(values, name, largest = 2^63) {
  if (!is.numeric(values) || anyNA(values) || any(values != trunc(values)) || any(abs(values) > largest)) {
    invalid(sprintf("dlx: `%s` is not made of integers in range", name))
  }
  as.double(values)
}

one <- function(value, name, largest = 2^63) {
  if (length(value) != 1) invalid(sprintf("dlx: `%s` is not one integer", name))
  whole(value, name, largest)
}

axis_of <- function(value) as.integer(one(value, "axis", 2^31 - 1))
axes_of <- function(values) whole(values, "axes", 2^31 - 1)

word <- function(value, name) {
  if (!is.character(value) || length(value) != 1 || is.na(value)) invalid(sprintf("dlx: `%s` is not a string", name))
  value
}

choice <- function(value, choices, name) {
  found <- match(value, choices)
  if (length(found) != 1 || is.na(found)) invalid(sprintf("dlx: no such `%s`", name))
  found - 1L
}

COPY <- c("if_needed", "always", "never")
SIZES <- c(float64 = 8, float32 = 4, int32 = 4, int16 = 2, int8 = 1, uint16 = 2, uint8 = 1, bool = 1)

# A read-only tensor on the memory of a vector or an array, which R copies before it changes it.
dlx_tensor <- function(x) {
  dtype <- switch(typeof(x), double = "float64", integer = "int32", logical = "int32", raw = "uint8",
                  invalid("dlx: `x` is not a vector of numbers or bytes"))
  shape <- if (is.null(dim(x))) length(x) else dim(x)
  strides <- c(1, cumprod(pmax(shape, 1)))[seq_along(shape)]
  made(.Call(r_wrap, x, as.double(shape), dtype, as.double(strides), 0))
}

# The same for bytes of any dtype: strides in elements, default compact, and start in bytes.
dlx_bytes <- function(bytes, dtype, shape, strides = NULL, start = 0) {
  if (!is.raw(bytes)) invalid("dlx: `bytes` is not a raw vector")
  shape <- whole(shape, "shape")
  if (is.null(strides)) strides <- rev(c(1, cumprod(rev(pmax(shape, 1))))[seq_along(shape)])
  strides <- whole(strides, "strides")
  if (length(strides) != length(shape)) invalid("dlx: `strides` has another length than `shape`")
  start <- one(start, "start")
  type <- dlx_dtype(dtype)
  reach <- (shape - 1) * strides
  bits <- type$bits * type$lanes
  if (all(shape > 0) && (start < 0 || 8 * start + bits * sum(pmin(reach, 0)) < 0 ||
                         8 * start + bits * (1 + sum(pmax(reach, 0))) > 8 * length(bytes))) {
    invalid("dlx: `shape`, `strides` and `start` do not fit into `bytes`")
  }
  made(.Call(r_wrap, bytes, shape, dtype, strides, start))
}

# A new compact tensor of zeros.
dlx_empty <- function(shape, dtype = "float64", device = "cpu") {
  made(.Call(r_empty, whole(shape, "shape"), word(dtype, "dtype"), word(device, "device")))
}

# Exports are external pointers to a DLManagedTensorVersioned, or its address, whose deleter the caller's C code calls;
# imports take both.
dlx_to_dlpack <- function(t, as_address = FALSE) {
  managed <- check(.Call(r_export, t, TRUE))
  if (as_address) .Call(r_hand_over, managed) else managed
}
dlx_to_legacy <- function(t) check(.Call(r_export, t, FALSE))

managed <- function(x) if (typeof(x) == "externalptr") x else one(x, "managed", 2^53)
dlx_from_dlpack <- function(x) made(.Call(r_import, managed(x), TRUE))
dlx_from_legacy <- function(x) made(.Call(r_import, managed(x), FALSE))

# A part of one axis by Python's rules; NULL is an omitted start or stop.
dlx_slice <- function(t, axis, start = NULL, stop = NULL, step = 1) {
  end <- function(value) if (is.null(value)) NA_real_ else one(value, "position")
  made(.Call(r_slice, t, axis_of(axis), end(start), end(stop), one(step, "step")))
}

dlx_select <- function(t, axis, index) made(.Call(r_select, t, axis_of(axis), one(index, "index")))

# The axes reordered; reversed without `axes`.
dlx_permute <- function(t, axes = NULL) {
  if (!is.null(axes) && length(axes) != length(dim(t))) {
    invalid(sprintf("dlx_tensor_permute: `axes` has %d numbers (expected %d)", length(axes), length(dim(t))))
  }
  made(.Call(r_permute, t, if (is.null(axes)) NULL else axes_of(axes)))
}

dlx_squeeze <- function(t, axes = numeric()) made(.Call(r_squeeze, t, axes_of(axes)))
dlx_expand_dims <- function(t, axis) made(.Call(r_expand_dims, t, axis_of(axis)))
dlx_broadcast <- function(t, shape) made(.Call(r_broadcast, t, whole(shape, "shape")))
dlx_bitcast <- function(t, dtype) made(.Call(r_bitcast, t, word(dtype, "dtype")))
dlx_readonly <- function(t) made(.Call(r_readonly, t))
dlx_copy <- function(t) made(.Call(r_copy, t))

dlx_contiguous <- function(t, copy = "if_needed", order = "C") {
  made(.Call(r_contiguous, t, choice(copy, COPY, "copy"), choice(order, c("C", "F"), "order")))
}

dlx_reshape <- function(t, shape, copy = "if_needed") {
  made(.Call(r_reshape, t, whole(shape, "shape"), choice(copy, COPY, "copy")))
}

dlx_to_device <- function(t, device) made(.Call(r_to_device, t, word(device, "device")))
dlx_copy_from <- function(t, source) made(.Call(r_copy_from, t, source))

# Drops the tensor at once; the garbage collector does it later.
dlx_close <- function(t) invisible(.Call(r_close, t))

dlx_info <- function(t) check(.Call(r_info, t))
dlx_address <- function(t) check(.Call(r_address, t))
dlx_dtype <- function(name) check(.Call(r_dtype, word(name, "dtype")))
dlx_device <- function(name) check(.Call(r_device, word(name, "device")))[c("type", "id", "name")]
dlx_device_count <- function(name) check(.Call(r_device, word(name, "device")))$count
dlx_version <- function() .Call(r_version)
dlx_raw <- function(t) check(.Call(r_raw, t))

dim.dlx_tensor <- function(x) dlx_info(x)$shape

# All elements in C order, copied.
numbers <- function(bytes, dtype) {
  size <- SIZES[dtype]
  if (is.na(size)) invalid(sprintf("dlx: R has no numbers of %s: dlx_raw and dlx_bitcast help", dtype))
  count <- length(bytes) / size
  if (startsWith(dtype, "float")) return(readBin(bytes, "double", count, size))
  values <- readBin(bytes, "integer", count, size, signed = size == 4 || startsWith(dtype, "int"))
  if (dtype == "bool") values != 0 else values
}

as.vector.dlx_tensor <- function(x, mode = "any") numbers(dlx_raw(x), dlx_info(x)$dtype)

# A copy as an array of R.
as.array.dlx_tensor <- function(x, ...) {
  shape <- dim(x)
  columns <- dlx_permute(x)
  on.exit(dlx_close(columns))
  values <- as.vector(columns)
  if (length(shape) > 0) array(values, shape) else values
}

offset_of <- function(about, index) {
  index <- whole(index, "index")
  if (length(index) != length(about$shape) || any(index < 0) || any(index >= about$shape)) {
    invalid("dlx: the index is out of range")
  }
  sum(index * about$strides)
}

# One element; dlx_set writes it, to a tensor of dlx's or another library's memory.
dlx_get <- function(t, ...) {
  index <- c(...)
  offset_of(dlx_info(t), index)
  views <- Reduce(function(view, i) dlx_select(view, 0, i), index, t, accumulate = TRUE)[-1]
  on.exit(lapply(views, dlx_close)) # not left to the garbage collector: they share the memory
  as.vector(if (length(views)) views[[length(views)]] else t)
}

dlx_set <- function(t, value, ...) {
  about <- dlx_info(t)
  at <- offset_of(about, c(...))
  if (about$readonly) fail(6L, "dlx: the tensor is read-only")
  size <- SIZES[about$dtype]
  if (is.na(size) || about$device != "cpu") invalid("dlx: R cannot write such elements")
  kind <- if (startsWith(about$dtype, "float")) as.double(value) else as.integer(value)
  if (length(kind) != 1 || is.na(kind)) invalid("dlx: `value` is not one number")
  bytes <- writeBin(kind, raw(), size = size)
  invisible(made(.Call(r_poke, t, at * size, bytes)))
}

format.dlx_tensor <- function(x, ...) {
  about <- tryCatch(dlx_info(x), dlx_error = function(e) NULL)
  if (is.null(about)) return("Tensor(closed)")
  shape <- paste(about$shape, collapse = ", ")
  sprintf("Tensor(%s, (%s), %s%s)", about$dtype, shape, about$device, if (about$readonly) ", read-only" else "")
}

print.dlx_tensor <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
