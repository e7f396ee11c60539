// dlx from Node, through koffi (npm install koffi): share a Float32Array by DLPack. It stays alive
// until the last user is done. Run: node share.js [LIBDLX]
const koffi = require('koffi');
const dlx = koffi.load(process.argv[2] ?? 'libdlx.so.1');

koffi.struct('DLDevice', {device_type: 'int32_t', device_id: 'int32_t'});
koffi.struct('DLDataType', {code: 'uint8_t', bits: 'uint8_t', lanes: 'uint16_t'});
koffi.struct('DLTensor', {
  data: 'void *', device: 'DLDevice', ndim: 'int32_t', dtype: 'DLDataType',
  shape: 'int64_t *', strides: 'int64_t *', byte_offset: 'uint64_t',
});
const Managed = koffi.struct('DLManagedTensorVersioned', {
  major: 'uint32_t', minor: 'uint32_t', manager_ctx: 'void *', deleter: 'void *',
  flags: 'uint64_t', dl_tensor: 'DLTensor',
});
koffi.opaque('dlx_tensor');
const Deleter = koffi.proto('void dlx_deleter(void *data, void *user_data)');
const ManagedDeleter = koffi.proto('void managed_deleter(void *self)');

const lastError = dlx.func('const char *dlx_last_error(void)');
const wrap = dlx.func('int32_t dlx_tensor_wrap(const DLTensor *description, uint64_t flags, ' +
    'dlx_deleter *deleter, void *user_data, _Out_ dlx_tensor **out)');
const select = dlx.func('int32_t dlx_tensor_select(dlx_tensor *tensor, int32_t axis, ' +
    'int64_t index, _Out_ dlx_tensor **out)');
const permute = dlx.func('int32_t dlx_tensor_permute(dlx_tensor *tensor, const int32_t *axes, ' +
    '_Out_ dlx_tensor **out)');
const release = dlx.func('void dlx_tensor_release(dlx_tensor *tensor)');
const toDlpack = dlx.func('int32_t dlx_tensor_to_dlpack_versioned(dlx_tensor *tensor, ' +
    'void *options, _Out_ void **out)');

function check(status) {
  if (status !== 0) throw new Error(lastError());
}

function made(call, ...args) {
  const out = [null];
  check(call(...args, out));
  return out[0];
}

// The closure keeps the typed array alive. When another thread calls the deleter, koffi runs the
// closure on Node's thread, in the event loop.
function share(values, shape) {
  const deleter = koffi.register(() => {
    console.log(values.length === 6 ? 'released' : 'damaged');
    setImmediate(() => koffi.unregister(deleter));
  }, koffi.pointer(Deleter));
  return made(wrap, {
    data: values, device: {device_type: 1, device_id: 0}, ndim: shape.length,
    dtype: {code: 2, bits: 32, lanes: 1}, shape: BigInt64Array.from(shape, BigInt), strides: null,
    byte_offset: 0,
  }, 0, deleter, null);
}

const matrix = share(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3]);
try {
  made(select, matrix, 0, 9);
} catch (error) {
  console.log(error.message);
}
const transposed = made(permute, matrix, null); // a view
release(matrix); // the view keeps the memory
const managed = made(toDlpack, transposed, null);
release(transposed);

const {dl_tensor: t, deleter} = koffi.decode(managed, Managed); // what a DLPack consumer gets
const numbers = (pointer) => Array.from(koffi.decode(pointer, 'int64_t', t.ndim), Number);
const [shape, strides] = [numbers(t.shape), numbers(t.strides)];
const data = koffi.decode(t.data, 'float', shape[0] * shape[1]);
const items = [];
for (let i = 0; i < shape[0]; i++) {
  for (let j = 0; j < shape[1]; j++) items.push(data[i * strides[0] + j * strides[1]]);
}
console.log(`(${shape.join(', ')}): ${items.join(' ')}`);
koffi.call(deleter, ManagedDeleter, managed);
