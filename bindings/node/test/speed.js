// node --expose-gc test/speed.js: nanoseconds per call, and where koffi is installed, koffi's.
'use strict';
const {Tensor, raw} = require('..');

function time(name, count, call) {
  for (let i = 0; i < count / 10; ++i) call();
  let best = Infinity;
  for (let round = 0; round < 5; ++round) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < count; ++i) call();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / count);
  }
  console.log(`${name}: ${Math.round(best)}`);
}

const small = Float32Array.of(0, 1, 2, 3, 4, 5);
time('wrap, export, release', 20000, () => {
  const tensor = Tensor.from(small, [2, 3]);
  const managed = tensor.toDLPack();
  tensor.close();
  raw.drop(managed, 1);
});

const columns = Tensor.empty([512, 512]).transpose();
const packed = Tensor.empty([512, 512]);
time('strided copy of 1 MB', 100, () => packed.copyFrom(columns));
time('a call', 200000, () => raw.dlx_get_num_threads());
time('array() of 1 MB', 1000, () => packed.array());

let koffi;
try {
  koffi = require('koffi');
} catch {
  process.exit();
}
const library = koffi.load('libdlx.so.1');
const count = library.func('int32_t dlx_get_num_threads()');
time('koffi: a call', 200000, () => count());
time('koffi.decode of 1 MB', 20, () => koffi.decode(packed.address, 'float', 512 * 512));
time('koffi.view of 1 MB', 1000, () => koffi.view(packed.address, 1 << 20));
