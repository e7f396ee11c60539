// Names of dtypes and devices.
'use strict';
const raw = require('./raw.js');
const constants = require('./generated.js');
const {check} = require('./error.js');

const SIZE = constants.DLX_NAME_SIZE;
const text = new Uint8Array(SIZE);
const decoder = new TextDecoder();

function written(call) {
  check(call(text, SIZE));
  return decoder.decode(text.subarray(0, text.indexOf(0)));
}

const parsed = new Map();

/** The bytes of a DLDataType, not to be written. */
function dtypeBytes(name) {
  let bytes = parsed.get(name);
  if (bytes === undefined) {
    check(raw.dlx_dtype_parse(name, bytes = new Uint8Array(4)));
    parsed.set(name, bytes);
  }
  return bytes;
}

function dtypeName(code, bits, lanes) {
  const bytes = new Uint8Array([code, bits, ...new Uint8Array(new Uint16Array([lanes]).buffer)]);
  return written((out, size) => raw.dlx_dtype_name(bytes, out, size));
}

function parseDType(name) {
  const bytes = dtypeBytes(name);
  const [lanes] = new Uint16Array(bytes.buffer, 2);
  return {code: bytes[0], bits: bytes[1], lanes, name: dtypeName(bytes[0], bytes[1], lanes)};
}

function deviceName(type, id) {
  return written((out, size) => raw.dlx_device_name(type, id, out, size));
}

function parseDevice(name) {
  const out = new Int32Array(2);
  check(raw.dlx_device_parse(name, out.subarray(0, 1), out.subarray(1)));
  return {type: out[0], id: out[1], name: deviceName(out[0], out[1])};
}

/** The number of devices of the type of `name`. */
const deviceCount = (name) => raw.dlx_device_count(parseDevice(name).type);
/** Why there is no such device; '' if there is one. */
const deviceReason = (name) => raw.dlx_backend_reason(parseDevice(name).type);

module.exports = {deviceCount, deviceName, deviceReason, dtypeBytes, dtypeName, parseDType, parseDevice};
