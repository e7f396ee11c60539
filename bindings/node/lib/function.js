// Functions of C that have a contract (dlx/call.h).
'use strict';
const raw = require('./raw.js');
const constants = require('./generated.js');
const {check, invalid} = require('./error.js');
const {Tensor, adopt} = require('./tensor.js');

const {DLX_PARAMETER_OPTIONAL, DLX_PARAMETER_RESULT, DLX_PARAMETER_STREAM} = constants;
// The kinds of parameters, in the order of DLX_PARAMETER_*, and what they take.
const TAKES = ['a Tensor', 'an integer', 'a number', 'a boolean', 'a string'];
const forgotten = new FinalizationRegistry((contract) => raw.dlx_contract_release(contract));
const float = new Float64Array(1);
const bits = new BigInt64Array(float.buffer);

/** A dlx_parameter. */
function describe(contract, index) {
  const bytes = new DataView(new ArrayBuffer(40));
  bytes.setUint32(0, 40, true);
  check(raw.dlx_contract_parameter(contract, index, bytes.buffer));
  const flags = bytes.getUint32(8, true);
  const kind = bytes.getInt32(4, true);
  return {
    kind,
    name: raw.text(bytes.getBigUint64(16, true)),
    isOptional: (flags & DLX_PARAMETER_OPTIONAL) !== 0,
    isResult: (flags & DLX_PARAMETER_RESULT) !== 0,
    isPassed: (flags & DLX_PARAMETER_RESULT) === 0 && kind !== DLX_PARAMETER_STREAM,
    byDefault: bytes.getBigInt64(32, true),
  };
}

/** A function of C that takes the tensors that fit its contract. A wrong address crashes, as in C. */
class Function {
  #contract;
  #address;
  #parameters = [];

  /** The dlx_function at an address, and a contract: "blur(image: uint8[h, w], out: uint8[h, w] result)". */
  constructor(address, contract) {
    if (typeof address !== 'bigint' || address === 0n) throw new TypeError('dlx: `address` is not an address');
    if (typeof contract !== 'string' || contract.includes('\0')) {
      throw new TypeError('dlx: `contract` is not a string without zero bytes');
    }
    const made = new BigUint64Array(1);
    check(raw.dlx_contract_create(contract, made));
    this.#contract = made[0];
    forgotten.register(this, made[0]);
    this.#address = address;
    for (let i = 0; i < raw.dlx_contract_count(made[0]); ++i) this.#parameters.push(describe(made[0], i));
  }

  /** A function of a shared library, which stays loaded. */
  static load(library, name, contract) { return new Function(raw.load(library, name), contract); }

  get name() { return raw.dlx_contract_name(this.#contract); }

  /** Calls the function. The result is a Tensor, undefined, or an array if there are several.
   * `undefined` as an argument is a default. */
  call(...given) {
    const count = this.#parameters.length;
    const tensors = new BigUint64Array(count + 1);
    const values = new BigInt64Array(count + 1);
    const texts = []; // alive until the call returns
    const passed = this.#parameters.filter(({isPassed}) => isPassed).length;
    if (given.length > passed) throw this.#wrong(`it takes ${passed} arguments (got ${given.length})`);
    let next = 0;
    for (const [index, parameter] of this.#parameters.entries()) {
      if (!parameter.isPassed) continue;
      const argument = given[next++];
      if (argument !== undefined) this.#put(index, parameter, argument, tensors, values, texts);
      else if (!parameter.isOptional) throw this.#wrong(`\`${parameter.name}\` is missing`);
      else values[index] = parameter.byDefault;
    }
    const out = new BigUint64Array(this.#parameters.filter(({isResult}) => isResult).length + 1);
    check(raw.dlx_contract_call(this.#contract, this.#address, null, tensors, values, out));
    const results = Array.from(out.subarray(0, -1), adopt);
    return results.length > 1 ? results : results[0];
  }

  #put(index, {kind, name}, argument, tensors, values, texts) {
    if (kind === 0 && argument instanceof Tensor) tensors[index] = argument.handle;
    else if (kind === 1 && (typeof argument === 'bigint' || Number.isSafeInteger(argument))) {
      if (BigInt.asIntN(64, BigInt(argument)) !== BigInt(argument)) {
        throw this.#wrong(`\`${name}\` does not fit into 64 bits (got ${argument})`);
      }
      values[index] = BigInt(argument);
    } else if (kind === 2 && typeof argument === 'number') {
      float[0] = argument;
      values[index] = bits[0];
    } else if (kind === 3 && typeof argument === 'boolean') values[index] = argument ? 1n : 0n;
    else if (kind === 4 && typeof argument === 'string' && !argument.includes('\0')) {
      texts.push(new TextEncoder().encode(`${argument}\0`));
      values[index] = raw.address(texts[texts.length - 1]);
    } else throw this.#wrong(`\`${name}\` is not ${TAKES[kind]}`);
  }

  #wrong(words) { return invalid(`${this.name}: ${words}`); }
}

module.exports = {Function};
