// dlx from Node: share a Float32Array by DLPack. It stays alive until the last user is done.
// Run: npm install libdlx && node share.js
const {Tensor} = require('libdlx');

const pixels = Float32Array.of(0, 1, 2, 3, 4, 5);
const matrix = Tensor.from(pixels, [2, 3], {onRelease: () => console.log('released')});
try {
  matrix.select(0, 9);
} catch (error) {
  console.log(error.message);
}
const columns = matrix.transpose(); // a view
const managed = columns.toDLPack(); // for any library that takes DLPack
matrix.close();
columns.close(); // `managed` keeps the memory

const taken = Tensor.fromDLPack(managed);
console.log(`(${taken.shape.join(', ')}): ${taken.values().join(' ')}`);
taken.close();
