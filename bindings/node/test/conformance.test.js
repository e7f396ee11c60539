// Runs the conformance file (bindings/conformance), which every language runs.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {build} = require('../scripts/build.js');
const {DlxError, Tensor, parseDType, parseDevice} = require('..');

const foreign = require(build('test/foreign.c', 'foreign'));
const file = process.env.DLX_CONFORMANCE ?? path.join(__dirname, '../../conformance/cases.txt');
const CHECKS = ['dtype', 'shape', 'strides', 'readonly', 'bytes', 'is', 'error'];

const numbers = (word) => (word === '-' ? [] : word.split(',').map(BigInt));
const bytes = (word) => Uint8Array.from(Buffer.from(word === '-' ? '' : word, 'hex'));
const open = (word) => (word === '_' ? undefined : Number(word));
const how = (words) => ({
  copy: words.includes('never') ? 'never' : 'if-needed',
  order: words.includes('F') ? 'F' : 'C',
});

/** A tensor on memory of JavaScript. */
function tensor(dtype, shape, data, strides, offset) {
  const values = bytes(data);
  return Tensor.from(values, numbers(shape), {dtype, strides, offset});
}

const OPERATIONS = {
  tensor: (_, dtype, shape, data) => {
    if (data !== '-') return tensor(dtype, shape, data);
    return Tensor.empty(numbers(shape), dtype); // no elements, or an error of dlx_tensor_empty
  },
  wrap: (_, dtype, shape, strides, start, data) =>
    tensor(dtype, shape, data, numbers(strides), (Number(start) * 8) / parseDType(dtype).bits),
  foreign: (_, field, value) => Tensor.fromDLPack(foreign.make(field, ...[...numbers(value), 0n].slice(0, 2))),
  permute: (t, axes) => (axes ? t.permute(numbers(axes).map(Number)) : t.transpose()),
  slice: (t, axis, start, stop, step) => t.slice(Number(axis), open(start), open(stop), Number(step)),
  select: (t, axis, index) => t.select(Number(axis), Number(index)),
  squeeze: (t, ...axes) => t.squeeze(axes.map(Number)),
  expand_dims: (t, axis) => t.expandDims(Number(axis)),
  broadcast_to: (t, shape) => t.broadcastTo(numbers(shape)),
  bitcast: (t, dtype) => t.bitcast(dtype),
  as_readonly: (t) => t.asReadonly(),
  contiguous: (t, ...words) => t.contiguous(how(words)),
  clone: (t) => t.clone(),
  reshape: (t, shape, ...words) => t.reshape(numbers(shape), how(words)),
  to_device: (t, name) => t.toDevice(name),
  dlpack: (t) => Tensor.fromDLPack(t.toDLPack()),
  legacy: (t) => Tensor.fromLegacyDLPack(t.toLegacyDLPack()),
  copy_from: (t, dtype, shape, data) => t.copyFrom(tensor(dtype, shape, data)),
  parse_dtype: (_, name) => parseDType(name),
  parse_device: (_, name) => parseDevice(name),
};

function outcome(operations) {
  let t;
  try {
    for (const line of operations) {
      const [verb, ...words] = line.split(' ');
      t = OPERATIONS[verb](t, ...words);
    }
  } catch (error) {
    if (!(error instanceof DlxError)) throw error;
    return [`error ${error.status} ${error.message}`];
  }
  if (!(t instanceof Tensor)) return [`is ${Object.values(t).join(' ')}`];
  return [
    `dtype ${t.dtype}`,
    `shape ${t.shape.join(',') || '-'}`,
    `strides ${t.strides.join(',') || '-'}`,
    `readonly ${Number(t.readonly)}`,
    `bytes ${Buffer.from(t.bytes()).toString('hex') || '-'}`,
  ];
}

for (const part of fs.readFileSync(file, 'utf8').trimEnd().split('\n\n')) {
  const [name, ...lines] = part.split('\n');
  if (!name.startsWith('case ')) continue;
  const isCheck = (line) => CHECKS.includes(line.split(' ')[0]);
  test(name, () => {
    const before = foreign.deleted();
    const operations = lines.filter((line) => !isCheck(line));
    const checks = lines.filter(isCheck);
    assert.deepEqual(outcome(operations), checks);
    if (operations[0].startsWith('foreign') && checks[0].startsWith('error')) {
      assert.equal(foreign.deleted(), before + 1);
    }
  });
}
