'use strict';
const {DlxError} = require('./error.js');
const {Function} = require('./function.js');
const names = require('./names.js');
const {Tensor} = require('./tensor.js');
const raw = require('./raw.js');

module.exports = {
  DlxError,
  Function,
  Tensor,
  constants: require('./generated.js'),
  deviceCount: names.deviceCount,
  deviceReason: names.deviceReason,
  parseDType: names.parseDType,
  parseDevice: names.parseDevice,
  raw,
  version: raw.dlx_version(),
};
