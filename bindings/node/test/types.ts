// Compiled by TypeScript, never run.
import {DlxError, Function, Tensor, type CopyMode} from '../lib/index.js';

const mode: CopyMode = 'never';
{
  using tensor = Tensor.from(Float32Array.of(1, 2), [2, 1], {readonly: true, onRelease: () => {}});
  const shape: number[] = tensor.transpose().reshape([-1], {copy: mode}).shape;
  const address: bigint = tensor.toDLPack();
  Tensor.fromDLPack(address).set(1n, ...shape);
}
try {
  Tensor.empty([2], 'float8_e4m3fn', 'cuda:0');
} catch (error) {
  if (error instanceof DlxError) error.code satisfies string;
}
const blurred = new Function(1n, 'f(x: any[n], n: int)').call(Tensor.empty([2]), 2n);
if (blurred instanceof Tensor) blurred.close();
// @ts-expect-error: plain arrays have no memory to share
Tensor.from([1, 2]);
// @ts-expect-error: made by its static functions only
new Tensor();
