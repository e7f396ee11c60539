# Functions of C that take the tensors that fit their contract (dlx/call.h).

KINDS <- c("a tensor", "one integer", "one number", "TRUE or FALSE", "one string")

# A function of C as a function of R: `address` is that of a dlx_function (dlx_symbol, getNativeSymbolInfo), the
# contract "blur(image: uint8[h, w], out: uint8[h, w] result)". NULL is a default. The result is a tensor, NULL, or
# a list if there are several. A wrong address crashes, as in C.
dlx_function <- function(address, contract) {
  if (inherits(address, "NativeSymbolInfo")) address <- address$address
  if (typeof(address) != "externalptr") invalid("dlx: not the address of a function")
  about <- check(.Call(r_contract, word(contract, "contract")))
  is_result <- bitwAnd(about$flags, 2L) != 0L
  is_optional <- bitwAnd(about$flags, 4L) != 0L
  passed <- which(!is_result & about$kinds != 5L)
  wrong <- function(...) invalid(paste0(about$name, ": ", sprintf(...)))
  function(...) {
    given <- list(...)
    if (length(given) > length(passed)) wrong("it takes %d arguments (got %d)", length(passed), length(given))
    arguments <- vector("list", length(about$kinds))
    for (position in seq_along(passed)) {
      i <- passed[position]
      value <- if (position <= length(given)) given[[position]]
      if (!is.null(value)) {
        if (!fits_kind(value, about$kinds[i])) wrong("`%s` is not %s", about$names[i], KINDS[about$kinds[i] + 1])
        arguments[[i]] <- if (about$kinds[i] == 1L) as.double(value) else value
      } else if (!is_optional[i]) {
        wrong("`%s` is missing", about$names[i])
      }
    }
    results <- check(.Call(r_call, address, about$contract, arguments))
    if (length(results) > 1) results else if (length(results) == 1) results[[1]] else invisible(NULL)
  }
}

fits_kind <- function(value, kind) {
  single <- is.atomic(value) && length(value) == 1 && !anyNA(value)
  switch(kind + 1,
    inherits(value, "dlx_tensor"),
    single && is.numeric(value) && value == trunc(value) && abs(value) < 2^63,
    single && is.numeric(value),
    single && is.logical(value),
    single && is.character(value))
}

# A function of a shared library, which stays loaded.
dlx_load <- function(library, name, contract) {
  loaded <- dyn.load(library)
  dlx_function(getNativeSymbolInfo(name, loaded), contract)
}
