// Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).
'use strict';
const assert = require('node:assert/strict');
const test = require('node:test');
const {DlxError, Function, Tensor} = require('..');

const library = process.env.DLX_FILTER;
const options = {skip: library ? false : 'no DLX_FILTER'};
const BLUR = 'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)';
const BRIGHTEN = 'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)';
const pixels = () => Uint8Array.from({length: 12}, (_, i) => 10 * i);
const image = () => Tensor.from(pixels(), [3, 4]);
const words = (message, code = 'DLX_ERROR_INVALID_ARGUMENT') => (error) => {
  assert.equal(error.message, message);
  return error instanceof DlxError && error.code === code;
};

test('results are tensors', options, () => {
  const blur = Function.load(library, 'filter_blur_packed', BLUR);
  assert.equal(blur.name, 'blur');
  const blurred = blur.call(image());
  assert.deepEqual([...blurred.array()], [25, 30, 40, 45, 45, 50, 60, 65, 65, 70, 80, 85]);
  assert.deepEqual(blur.call(image(), 0).values(), pixels());
  assert.deepEqual(blur.call(image(), 0n).shape, [3, 4]);
});

test('arguments are written', options, () => {
  const brighten = Function.load(library, 'filter_brighten_packed', BRIGHTEN);
  const own = pixels();
  assert.equal(brighten.call(Tensor.from(own, [3, 4]).slice(1, 3)), undefined);
  assert.deepEqual([...own], [0, 10, 20, 45, 40, 50, 60, 105, 80, 90, 100, 165]);
  brighten.call(Tensor.from(own, [3, 4]), 0);
  assert.deepEqual([...own], new Array(12).fill(0));
  const readonly = image().asReadonly();
  assert.throws(() => brighten.call(readonly), words('brighten: `image` is written to, and the array is ' +
    'read-only', 'DLX_ERROR_READ_ONLY'));
});

test('what does not fit is an error', options, () => {
  const blur = Function.load(library, 'filter_blur_packed', BLUR);
  const brighten = Function.load(library, 'filter_brighten_packed', BRIGHTEN);
  assert.throws(() => blur.call(image().reshape([12])),
      words('blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))'));
  assert.throws(() => blur.call(image(), -1), words('blur: `radius` is negative (got -1)'));
  assert.throws(() => blur.call(), words('blur: `image` is missing'));
  assert.throws(() => blur.call(image(), 1, 2), words('blur: it takes 2 arguments (got 3)'));
  assert.throws(() => blur.call(image(), 1.5), words('blur: `radius` is not an integer'));
  assert.throws(() => blur.call(image(), 2n ** 63n), words(
      'blur: `radius` does not fit into 64 bits (got 9223372036854775808)'));
  assert.throws(() => blur.call(pixels()), words('blur: `image` is not a Tensor'));
  assert.throws(() => brighten.call(image(), '2'), words('brighten: `factor` is not a number'));
  const closed = image();
  closed.close();
  assert.throws(() => blur.call(closed), /closed/);
  assert.throws(() => Function.load(library, 'filter_blur_packed', 'blur(image: uint9[h])'), DlxError);
  assert.throws(() => Function.load(library, 'no_such_symbol', 'f()'), /no_such_symbol/);
  assert.throws(() => Function.load('/no/such/library.so', 'f', 'f()'), /no.such.library/);
  assert.throws(() => new Function(1n, `f(${'x'.repeat(5000)}: int)`), TypeError);
  assert.throws(() => new Function(0n, 'f()'), TypeError);
  assert.throws(() => new Function(1n, 'f()\0'), TypeError);
});
