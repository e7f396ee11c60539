// Prints the nanoseconds of an exchange and of a copy; with koffi installed, also what its views cost.
const {Tensor, raw} = require('libdlx');

function time(count, call) {
  for (let i = 0; i < count; ++i) call();
  let best = Infinity;
  for (let round = 0; round < 5; ++round) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < count; ++i) call();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / count);
  }
  return Math.round(best);
}

const small = Float32Array.of(0, 1, 2, 3, 4, 5);
const exchange = time(20000, () => {
  const tensor = Tensor.from(small, [2, 3]);
  const managed = tensor.toDLPack();
  tensor.close();
  raw.drop(managed, 1);
});
const columns = Tensor.empty([512, 512]).transpose();
const packed = Tensor.empty([512, 512]);
console.log(exchange, time(100, () => packed.copyFrom(columns)));

let koffi;
try {
  koffi = require('koffi');
} catch {
  process.exit();
}
console.error('Tensor.array of 1 MB:', time(200, () => packed.array()));
console.error('koffi.decode of 1 MB:', time(20, () => koffi.decode(packed.address, 'float', 512 * 512)));
console.error('koffi.view of 1 MB:', time(200, () => koffi.view(packed.address, 1 << 20)));
