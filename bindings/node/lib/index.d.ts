export type DType =
  | 'bool' | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64'
  | 'float16' | 'float32' | 'float64' | 'bfloat16' | 'complex64' | 'complex128'
  | (string & {}); // all names of dlx.h: "float8_e4m3fn", "uint4", "float32x4" …

export type Elements =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array
  | BigUint64Array | Float32Array | Float64Array;

export type Order = 'C' | 'F';
export type CopyMode = 'if-needed' | 'always' | 'never';
export type Shape = readonly (number | bigint)[];

export interface CopyOptions {
  /** `never`: a needed copy is DLX_ERROR_COPY_REFUSED. */
  copy?: CopyMode;
  order?: Order;
}

export interface WrapOptions {
  /** Another dtype of the same bytes; default: that of the typed array. */
  dtype?: DType;
  /** In elements; default: compact. */
  strides?: Shape;
  /** Position of the first element, in elements. */
  offset?: number;
  readonly?: boolean;
  /** Called in the event loop when nothing uses the memory any more. */
  onRelease?: () => void;
}

/** A failed call, with dlx's words as its message. */
export class DlxError extends Error {
  /** The status by name, such as "DLX_ERROR_READ_ONLY". */
  readonly code: string;
  readonly status: number;
}

/** A tensor: an immutable description of memory, and a share in the memory's owner. */
export class Tensor {
  private constructor();

  /** A new compact tensor, filled with zeros in host memory. */
  static empty(shape: Shape, dtype?: DType, device?: string): Tensor;
  /** A tensor on the memory of a typed array, which stays alive until the last user is done. */
  static from(values: Elements | Uint8ClampedArray, shape?: Shape, options?: WrapOptions): Tensor;
  /** Imports the DLManagedTensorVersioned at an address; a failed import calls its deleter. */
  static fromDLPack(address: bigint): Tensor;
  static fromLegacyDLPack(address: bigint): Tensor;
  /** The address of a DLManagedTensorVersioned, whose last holder calls its deleter. */
  toDLPack(): bigint;
  toLegacyDLPack(): bigint;

  readonly closed: boolean;
  readonly ndim: number;
  readonly shape: number[];
  /** In elements. */
  readonly strides: number[];
  readonly dtype: DType;
  readonly device: string;
  readonly readonly: boolean;
  readonly size: number;
  readonly nbytes: number;
  /** Address of the first element. */
  readonly address: bigint;
  /** The `dlx_tensor *`, for `raw`. */
  readonly handle: bigint;
  isContiguous(order?: Order): boolean;

  /** A part of one axis by Python's rules; `undefined` is an omitted start or stop. */
  slice(axis: number, start?: number, stop?: number, step?: number): Tensor;
  select(axis: number, index: number): Tensor;
  permute(axes: readonly number[]): Tensor;
  transpose(): Tensor;
  squeeze(axes?: readonly number[]): Tensor;
  expandDims(axis: number): Tensor;
  broadcastTo(shape: Shape): Tensor;
  bitcast(dtype: DType): Tensor;
  asReadonly(): Tensor;
  contiguous(options?: CopyOptions): Tensor;
  clone(): Tensor;
  reshape(shape: Shape, options?: CopyOptions): Tensor;
  toDevice(device: string): Tensor;
  copyFrom(source: Tensor): this;
  synchronize(): void;

  /** The memory of a compact, writable tensor as a typed array, which keeps it alive. */
  array(): Elements;
  /** A copy of all elements in C order. */
  values(): Elements;
  /** A copy of the bytes of all elements in C order. */
  bytes(): Uint8Array;
  at(...index: number[]): number | bigint;
  set(value: number | bigint, ...index: number[]): void;

  /** Drops the tensor at once; the last user of the memory frees it. */
  close(): void;
  [Symbol.dispose](): void;
}

export function parseDType(name: DType): {code: number; bits: number; lanes: number; name: DType};
export function parseDevice(name: string): {type: number; id: number; name: string};
export function deviceCount(name: string): number;
export function deviceReason(name: string): string;
export const version: string;
/** The constants of dlx.h by their names. */
export const constants: Readonly<Record<string, number | bigint>>;
/** Every function of dlx.h by its name: pointers are addresses, views or null; errors are statuses. */
export const raw: Readonly<Record<string, (...values: unknown[]) => unknown>>;

/** undefined: the contract's default. */
export type Argument = Tensor | number | bigint | boolean | string | undefined;

/** A function of C that takes the tensors that fit its contract (dlx/call.h). */
export class Function {
  /** The dlx_function at an address. A wrong one crashes, as in C. */
  constructor(address: bigint, contract: string);
  /** A function of a shared library, which stays loaded. */
  static load(library: string, name: string, contract: string): Function;
  readonly name: string;
  /** The result is a Tensor, undefined, or an array if the contract has several. */
  call(...given: Argument[]): Tensor | Tensor[] | undefined;
}
