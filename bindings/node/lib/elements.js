// Which typed array has the elements of a dtype.
'use strict';

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
};

const DTYPES = new Map(Object.entries(ARRAYS).map(([dtype, array]) => [array, dtype]));
DTYPES.set(Uint8Array, 'uint8');
DTYPES.set(Uint8ClampedArray, 'uint8');

/** The dtype of a typed array; undefined for other values. */
function dtypeOf(values) {
  if (!ArrayBuffer.isView(values) || values instanceof DataView) return undefined;
  return values instanceof Uint8Array ? 'uint8' : DTYPES.get(values.constructor);
}

/** Whether all elements lie within `count` elements, counted from `start`. */
function fits(count, shape, strides, start) {
  if (shape.some((extent) => extent <= 0n)) return true; // negative extents are left to dlx
  let low = start;
  let high = start;
  for (let axis = 0; axis < shape.length; ++axis) {
    const reach = (shape[axis] - 1n) * strides[axis];
    if (reach < 0n) low += reach;
    else high += reach;
  }
  return low >= 0n && high < count;
}

module.exports = {ARRAYS, dtypeOf, fits};
