'use strict';
const raw = require('./raw.js');
const constants = require('./generated.js');
const {DlxError, check, invalid} = require('./error.js');
const {ARRAYS, dtypeOf, fits} = require('./elements.js');
const {deviceName, dtypeBytes, dtypeName, parseDevice} = require('./names.js');

const COPY = {'if-needed': 0, 'always': 1, 'never': 2};
const ORDER = {C: 0, F: 1};
const HOSTS = [constants.kDLCPU, constants.kDLCUDAHost, constants.kDLROCMHost, constants.kDLCUDAManaged];
const ADOPT = Symbol('adopt');
const dispose = Symbol.dispose ?? Symbol.for('nodejs.dispose');

// Releases what was not closed. The held value is the handle.
const forgotten = new FinalizationRegistry((handle) => raw.dlx_tensor_release(handle));

// A small typed array gets its memory when C asks for it, which takes a microsecond: these are reused.
const out = new BigUint64Array(1);
const consumed = new Int32Array(1);
const pools = [new BigInt64Array(8), new BigInt64Array(8)];

/** The numbers for C, valid until the next call with the same pool. */
function extents(values, pool = 0) {
  if (!Array.isArray(values) && !ArrayBuffer.isView(values)) {
    throw new TypeError(`dlx: not an array of extents: ${values}`);
  }
  const numbers = values.length > 8 ? new BigInt64Array(values.length) : pools[pool].subarray(0, values.length);
  for (let axis = 0; axis < values.length; ++axis) numbers[axis] = BigInt(values[axis]);
  return numbers;
}
const axesOf = (values) => Int32Array.from(values, (axis) => {
  if (axis !== (axis | 0)) throw new TypeError(`dlx: an axis is not an integer: ${axis}`);
  return axis;
});

const OPTIONS = {};

/** A dlx_copy_options. */
function options({copy = 'if-needed', order = 'C'} = {}) {
  if (!(copy in COPY) || !(order in ORDER)) {
    throw new TypeError(`dlx: no such copy mode or order: ${copy}, ${order}`);
  }
  return OPTIONS[copy + order] ??= Int32Array.of(48, COPY[copy], ORDER[order], 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/** Runs a call whose last parameter is a new tensor. */
function made(call, ...values) {
  check(call(...values, out));
  return new Tensor(ADOPT, out[0]);
}

/** A tensor: an immutable description of memory, and a share in the memory's owner. */
class Tensor {
  #handle;
  #about;

  constructor(secret, handle) {
    if (secret !== ADOPT) throw new TypeError('dlx: use Tensor.from, Tensor.empty or Tensor.fromDLPack');
    this.#handle = handle;
    forgotten.register(this, handle, this);
  }

  /** A new compact tensor, filled with zeros in host memory. */
  static empty(shape, dtype = 'float32', device = 'cpu') {
    const {type, id} = parseDevice(device);
    const sizes = extents(shape);
    const tensor = made(raw.dlx_tensor_empty, sizes.length, sizes, dtypeBytes(dtype), type, id, null);
    if (HOSTS.includes(type)) raw.zero(tensor.#handle);
    return tensor;
  }

  /** A tensor on the memory of a typed array, which stays alive until the last user is done. */
  static from(values, shape, {dtype, strides, offset = 0, readonly = false, onRelease} = {}) {
    const own = dtypeOf(values);
    if (own === undefined) {
      throw new TypeError('dlx: `values` is not a typed array (expected one like Float32Array.of(1, 2))');
    }
    if (values.buffer.resizable || values.buffer.growable) {
      throw new TypeError('dlx: the memory of a resizable buffer may go away');
    }
    const bytes = dtypeBytes(dtype ?? own);
    const sizes = extents(shape ?? [values.length]);
    const steps = strides == null ? null : extents(strides, 1);
    if (steps !== null && steps.length !== sizes.length) {
      throw invalid(`dlx: \`strides\` has ${steps.length} numbers (expected ${sizes.length})`);
    }
    const bits = raw.dlx_dtype_bits(bytes);
    const available = (BigInt(values.byteLength) * 8n) / bits;
    const compact = compactStrides(sizes);
    if (!Number.isSafeInteger(offset) || !fits(available, sizes, steps ?? compact, BigInt(offset))) {
      throw invalid(`dlx: \`shape\`, \`strides\` and \`offset\` do not fit (got ${sizes}, ${steps ?? compact} ` +
          `and ${offset} for ${available} elements)`);
    }
    if ((BigInt(offset) * bits) % 8n !== 0n) throw invalid('dlx: `offset` is inside a byte');
    const start = Number((BigInt(offset) * bits) / 8n);
    const flags = readonly ? constants.DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    return made(raw.wrap, values, start, bytes, sizes, steps, flags, onRelease);
  }

  /** Imports the DLManagedTensorVersioned at an address; a failed import calls its deleter. */
  static fromDLPack(address) {
    consumed[0] = 0;
    try {
      return made(raw.dlx_tensor_from_dlpack_versioned, address, consumed);
    } catch (error) {
      if (!consumed[0]) raw.drop(address, constants.DLX_MANAGED_VERSIONED);
      throw error;
    }
  }

  /** The same for the DLManagedTensor of DLPack before 1.0. */
  static fromLegacyDLPack(address) {
    try {
      return made(raw.dlx_tensor_from_dlpack, address, 0);
    } catch (error) {
      raw.drop(address, constants.DLX_MANAGED_LEGACY);
      throw error;
    }
  }

  /** Exports the tensor: the address of a DLManagedTensorVersioned, whose last holder calls its deleter. */
  toDLPack() {
    check(raw.dlx_tensor_to_dlpack_versioned(this.#live(), null, out));
    return out[0];
  }

  /** The same for the DLManagedTensor of DLPack before 1.0. */
  toLegacyDLPack() {
    check(raw.dlx_tensor_to_dlpack(this.#live(), null, out));
    return out[0];
  }

  get closed() { return this.#handle === null; }
  get ndim() { return this.#description().shape.length; }
  get shape() { return [...this.#description().shape]; }
  get strides() { return [...this.#description().strides]; }
  get dtype() { return this.#description().dtype; }
  get device() { return this.#description().device; }
  get readonly() { return this.#description().readonly; }
  get size() { return Number(raw.dlx_tensor_size(this.#live())); }
  get nbytes() { return Number(raw.dlx_tensor_nbytes(this.#live())); }
  /** Address of the first element. */
  get address() { return raw.dlx_tensor_data(this.#live()); }
  /** The `dlx_tensor *`, for `raw`. */
  get handle() { return this.#live(); }

  isContiguous(order = 'C') { return raw.dlx_tensor_is_contiguous(this.#live(), ORDER[order] ?? 0) === 1; }

  slice(axis, start, stop, step = 1) {
    const open = constants.DLX_SLICE_OPEN;
    return made(raw.dlx_tensor_slice, this.#live(), axis, start ?? open, stop ?? open, step);
  }

  select(axis, index) { return made(raw.dlx_tensor_select, this.#live(), axis, index); }

  permute(axes) {
    const numbers = axesOf(axes);
    if (numbers.length !== this.ndim) {
      throw invalid(`dlx_tensor_permute: \`axes\` has ${numbers.length} numbers (expected ${this.ndim})`);
    }
    return made(raw.dlx_tensor_permute, this.#live(), numbers);
  }

  transpose() { return made(raw.dlx_tensor_permute, this.#live(), null); }

  squeeze(axes = []) {
    const numbers = axesOf(axes);
    return made(raw.dlx_tensor_squeeze, this.#live(), numbers.length, numbers.length ? numbers : null);
  }

  expandDims(axis) { return made(raw.dlx_tensor_expand_dims, this.#live(), axis); }

  broadcastTo(shape) {
    const sizes = extents(shape);
    return made(raw.dlx_tensor_broadcast_to, this.#live(), sizes.length, sizes);
  }

  bitcast(dtype) { return made(raw.dlx_tensor_bitcast, this.#live(), dtypeBytes(dtype)); }
  asReadonly() { return made(raw.dlx_tensor_as_readonly, this.#live()); }
  contiguous(how) { return made(raw.dlx_tensor_contiguous, this.#live(), options(how)); }
  clone() { return made(raw.dlx_tensor_clone, this.#live(), null); }

  reshape(shape, how) {
    const sizes = extents(shape);
    return made(raw.dlx_tensor_reshape, this.#live(), sizes.length, sizes, options(how));
  }

  toDevice(device) {
    const {type, id} = parseDevice(device);
    return made(raw.dlx_tensor_to_device, this.#live(), type, id, null);
  }

  copyFrom(source) {
    check(raw.dlx_tensor_copy_from(this.#live(), source.#live(), null));
    return this;
  }

  synchronize() { check(raw.dlx_tensor_synchronize(this.#live())); }

  /** The elements of a compact, writable tensor in host memory as a typed array: the memory itself,
   * which the array keeps alive, also after close(). */
  array() {
    const {dtype, readonly} = this.#description();
    if (readonly) {
      throw new DlxError(constants.DLX_ERROR_READ_ONLY, 'dlx: the tensor is read-only: values() copies');
    }
    const Kind = this.#kind();
    if (!this.isContiguous()) throw invalid('dlx: the elements are not compact: contiguous() packs them');
    if (this.address % BigInt(Kind.BYTES_PER_ELEMENT) !== 0n) {
      throw invalid(`dlx: the elements are not aligned for ${dtype}: clone() aligns them`);
    }
    this.synchronize();
    return new Kind(raw.view(this.#handle));
  }

  /** A copy of all elements in C order, from any strides and any device. */
  values() {
    const Kind = this.#kind(false);
    const bytes = this.bytes();
    return new Kind(bytes.buffer, bytes.byteOffset, bytes.byteLength / Kind.BYTES_PER_ELEMENT);
  }

  /** A copy of the bytes of all elements in C order. */
  bytes() {
    const host = this.toDevice('cpu');
    const compact = host.contiguous();
    try {
      return new Uint8Array(raw.bytes(compact.#handle));
    } finally {
      compact.close();
      host.close();
    }
  }

  /** One element. */
  at(...index) {
    const out = new (this.#kind())(1);
    raw.peek(this.#handle, this.#offset(index), out);
    return out[0];
  }

  /** Writes one element. */
  set(value, ...index) {
    const Kind = this.#kind();
    if (this.#about.readonly) throw new DlxError(constants.DLX_ERROR_READ_ONLY, 'dlx: the tensor is read-only');
    const offset = this.#offset(index);
    raw.poke(this.#handle, offset, Kind.of(value));
  }

  /** Drops the tensor at once; the last user of the memory frees it. */
  close() {
    if (this.#handle === null) return;
    forgotten.unregister(this);
    const handle = this.#handle;
    this.#handle = null;
    raw.dlx_tensor_release(handle);
  }

  [dispose]() { this.close(); }

  toString() {
    if (this.closed) return 'Tensor(closed)';
    const {shape, dtype, device, readonly} = this.#description();
    return `Tensor(${dtype}, [${shape.join(', ')}], ${device}${readonly ? ', read-only' : ''})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')]() { return this.toString(); }

  #live() {
    if (this.#handle === null) throw invalid('dlx: the tensor is closed');
    return this.#handle;
  }

  #description() {
    const handle = this.#live();
    if (this.#about === undefined) {
      const [ndim, code, bits, lanes, type, id, flags, ...numbers] = Array.from(raw.describe(handle), Number);
      this.#about = {
        shape: numbers.slice(0, ndim),
        strides: numbers.slice(ndim),
        dtype: dtypeName(code, bits, lanes),
        device: deviceName(type, id),
        host: HOSTS.includes(type),
        readonly: (flags & constants.DLPACK_FLAG_BITMASK_READ_ONLY) !== 0,
      };
    }
    return this.#about;
  }

  /** The typed array for the elements, which the CPU must be able to access. */
  #kind(onHost = true) {
    const {dtype, device, host} = this.#description();
    if (!(dtype in ARRAYS)) throw invalid(`dlx: JavaScript has no array of ${dtype}: bitcast() or bytes() helps`);
    if (onHost && !host) {
      throw new DlxError(constants.DLX_ERROR_UNSUPPORTED, `dlx: the CPU cannot access memory on ${device}`);
    }
    return ARRAYS[dtype];
  }

  #offset(index) {
    const {shape, strides} = this.#description();
    if (index.length !== shape.length) {
      throw invalid(`dlx: the index has ${index.length} numbers (expected ${shape.length})`);
    }
    return index.reduce((sum, i, axis) => {
      if (!Number.isInteger(i) || i < 0 || i >= shape[axis]) {
        throw new RangeError(`dlx: the index is out of range (got ${index} for shape ${shape})`);
      }
      return sum + i * strides[axis];
    }, 0);
  }
}

function compactStrides(sizes) {
  const strides = new BigInt64Array(sizes.length);
  for (let axis = sizes.length - 1, step = 1n; axis >= 0; step *= sizes[axis--]) {
    strides[axis] = step > 0x7fffffffffffffffn ? 0x7fffffffffffffffn : step;
  }
  return strides;
}

/** A Tensor that owns the `dlx_tensor *`. */
const adopt = (handle) => new Tensor(ADOPT, handle);

module.exports = {Tensor, adopt};
