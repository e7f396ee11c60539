// The filters called from Node. Run: npm install libdlx && node use.js ./libfilter.so
const {Function, Tensor} = require('libdlx');

const path = process.argv[2];
// As filter.h has them.
const blur = Function.load(path, 'filter_blur_packed',
    'blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)');
const brighten = Function.load(path, 'filter_brighten_packed',
    'brighten(image: uint8[h, w] writable strided, factor: float = 1.5)');

const pixels = Uint8Array.from({length: 12}, (_, i) => 10 * i);
const image = Tensor.from(pixels, [3, 4], {onRelease: () => console.log('released')}); // no copy
const blurred = blur.call(image);
console.log(blurred.array().join(' '));
const column = image.slice(1, 3); // the last one
brighten.call(column); // in place
console.log(pixels.join(' '));

const flat = image.reshape([12]);
for (const wrong of [() => blur.call(flat), () => blur.call(image, -1)]) {
  try {
    wrong();
  } catch (error) {
    console.log(error.message);
  }
}

const managed = blurred.toDLPack(); // for any library that takes DLPack
blurred.close(); // `managed` keeps the memory
const taken = Tensor.fromDLPack(managed);
console.log(`(${taken.shape.join(', ')}): ${taken.values().slice(0, 4).join(' ')}`);
for (const tensor of [taken, flat, column, image]) tensor.close(); // or leave them to the garbage collector
