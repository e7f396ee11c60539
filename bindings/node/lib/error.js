'use strict';
const raw = require('./raw.js');
const constants = require('./generated.js');

/** A failed call: `code` is the name of its status, `message` has dlx's words. */
class DlxError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'DlxError';
    this.status = status;
    this.code = raw.dlx_status_name(status);
  }
}

/** Throws if a call failed. */
function check(status) {
  if (status !== 0) throw new DlxError(status, raw.dlx_last_error());
}

function invalid(message) {
  return new DlxError(constants.DLX_ERROR_INVALID_ARGUMENT, message);
}

module.exports = {DlxError, check, invalid};
