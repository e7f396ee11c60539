// The addon: every function of dlx.h. A wrong address crashes, as in C.
'use strict';
module.exports = require('../build/dlx.node');
