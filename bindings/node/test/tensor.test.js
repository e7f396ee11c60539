// Ownership, threads, element access and bad input.
'use strict';
const assert = require('node:assert/strict');
const {once} = require('node:events');
const test = require('node:test');
const {Worker} = require('node:worker_threads');
const {setTimeout: sleep} = require('node:timers/promises');
const {build} = require('../scripts/build.js');
const {DlxError, Tensor, constants, deviceCount, deviceReason, raw} = require('..');

const foreign = require(build('test/foreign.c', 'foreign'));
const values = () => Float32Array.of(0, 1, 2, 3, 4, 5);
const code = (name) => (error) => error instanceof DlxError && error.code === `DLX_ERROR_${name}`;

/** A tensor (2, 3) that counts its releases. */
function counted() {
  const count = {released: 0};
  const tensor = Tensor.from(values(), [2, 3], {onRelease: () => ++count.released});
  return {tensor, count};
}

async function collected(condition) {
  for (let i = 0; i < 200 && !condition(); ++i) {
    global.gc();
    await sleep(5);
  }
  return condition();
}

test('the memory is shared', () => {
  const own = values();
  const tensor = Tensor.from(own, [2, 3]);
  tensor.set(9, 1, 2);
  assert.equal(own[5], 9);
  const array = tensor.array();
  const again = tensor.array();
  array[0] = 7;
  assert.deepEqual([own[0], again[0], tensor.at(0, 0)], [7, 7, 7]);
  const mine = new BigUint64Array(1);
  raw.dlx_tensor_to_dlpack_versioned(tensor.handle, null, mine);
  const back = Tensor.fromDLPack(mine[0]);
  assert.equal(back.address, tensor.address);
  assert.deepEqual(back.transpose().values(), Float32Array.of(7, 3, 1, 4, 2, 9));
});

test('the last user releases, once', async () => {
  const {tensor, count} = counted();
  const view = tensor.transpose();
  const managed = view.toDLPack();
  tensor.close();
  tensor.close();
  view[Symbol.dispose ?? Symbol.for('nodejs.dispose')]();
  await sleep(5);
  assert.equal(count.released, 0);
  Tensor.fromDLPack(managed).close();
  await sleep(5);
  assert.equal(count.released, 1);
});

test('a foreign thread releases', async () => {
  const {tensor, count} = counted();
  const managed = tensor.toDLPack();
  tensor.close();
  assert.equal(foreign.useOnThread(managed), 1);
  await sleep(20);
  assert.equal(count.released, 1);
});

test('the collector closes what was forgotten', async () => {
  const count = (() => counted().count)();
  assert(await collected(() => count.released === 1));
});

test('an array keeps the memory', async () => {
  const before = foreign.deleted();
  let array = (() => {
    const tensor = Tensor.fromDLPack(foreign.make('none', 0, 0));
    const array = tensor.array();
    tensor.close();
    return array;
  })();
  global.gc();
  assert.deepEqual(array, values());
  assert.equal(foreign.deleted(), before);
  array = null;
  assert(await collected(() => foreign.deleted() === before + 1));
});

test('workers have tensors, and end with some', async () => {
  const script = `
    const {Tensor} = require(${JSON.stringify(require.resolve('..'))});
    const {parentPort} = require('node:worker_threads');
    const tensor = Tensor.from(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3], {onRelease() {}});
    parentPort.postMessage(tensor.toDLPack());`;
  const managed = [];
  for (let i = 0; i < 4; ++i) {
    const worker = new Worker(script, {eval: true});
    worker.on('message', (address) => managed.push(address));
    await once(worker, 'exit');
  }
  assert.equal(managed.length, 4);
  // The workers are gone with their memory; only the deleters are called.
  for (const address of managed) raw.drop(address, constants.DLX_MANAGED_VERSIONED);
});

test('a closed tensor is an error', () => {
  const {tensor} = counted();
  tensor.close();
  assert(tensor.closed);
  assert.equal(String(tensor), 'Tensor(closed)');
  const uses = ['transpose', 'toDLPack', 'array', 'values', 'at', 'synchronize', 'clone'];
  for (const use of uses) assert.throws(() => tensor[use](), /closed/);
  assert.throws(() => tensor.shape, code('INVALID_ARGUMENT'));
  assert.throws(() => Tensor.empty([1]).copyFrom(tensor), /closed/);
});

test('bad input is an error', () => {
  const tensor = Tensor.from(values(), [2, 3]);
  const columns = tensor.transpose();
  const readonly = tensor.asReadonly();
  assert.throws(() => tensor.at(2, 0), RangeError);
  assert.throws(() => tensor.at(0), code('INVALID_ARGUMENT'));
  assert.throws(() => tensor.permute([0]), code('INVALID_ARGUMENT'));
  assert.throws(() => tensor.select(0.5, 0), TypeError);
  assert.throws(() => tensor.select('0', 0), TypeError);
  assert.throws(() => tensor.select(2 ** 40, 0), TypeError);
  assert.throws(() => tensor.reshape([1.5]), RangeError);
  assert.throws(() => tensor.bitcast('float31'), code('INVALID_ARGUMENT'));
  assert.throws(() => tensor.bitcast('float32\0'), TypeError);
  assert.throws(() => tensor.bitcast('x'.repeat(1000)), DlxError);
  assert.throws(() => tensor.bitcast(undefined), TypeError);
  assert.throws(() => columns.array(), code('INVALID_ARGUMENT'));
  assert.throws(() => columns.contiguous({copy: 'never'}), code('COPY_REFUSED'));
  assert.throws(() => columns.contiguous({copy: 'sometimes'}), TypeError);
  assert.throws(() => readonly.array(), code('READ_ONLY'));
  assert.throws(() => readonly.set(1, 0, 0), code('READ_ONLY'));
  assert.throws(() => readonly.copyFrom(tensor), code('READ_ONLY'));
  assert.throws(() => Tensor.fromDLPack(null), code('INVALID_ARGUMENT'));
  assert.throws(() => Tensor.fromDLPack('x'), TypeError);
  assert.throws(() => new Tensor(), TypeError);
  assert.throws(() => Tensor.from([1, 2, 3]), TypeError);
  assert.throws(() => Tensor.from(new Uint8Array(new ArrayBuffer(8, {maxByteLength: 16}))), TypeError);
  for (const how of [{offset: 1}, {strides: [3, -1]}, {strides: [4, 1]}, {strides: [1]}, {offset: 0.5}]) {
    assert.throws(() => Tensor.from(values(), [2, 3], how), code('INVALID_ARGUMENT'));
  }
  assert.throws(() => Tensor.from(new Uint8Array(2), [2, 2 ** 62]), DlxError);
  assert.throws(() => Tensor.from(values(), [-1]), /negative extent/);
  assert.throws(() => Tensor.empty([1], 'bfloat16').at(0), /bfloat16/);
  assert.throws(() => Tensor.prototype.transpose.call({}), TypeError);
});

test('devices', () => {
  assert.equal(deviceCount('cpu'), 1);
  assert.notEqual(deviceReason('maia'), '');
  const tensor = Tensor.from(BigInt64Array.of(1n, 2n));
  assert.equal(tensor.toDevice('cpu').address, tensor.address);
  assert.equal(String(tensor), 'Tensor(int64, [2], cpu)');
  assert.deepEqual([tensor.at(1), tensor.size, tensor.nbytes, tensor.ndim], [2n, 2, 16, 1]);
});
