// Compiles the addon with the C compiler, Node's own headers and the installed libdlx.
'use strict';
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');

/** Compiles a source of this package into build/NAME.node. */
function build(source, name) {
  const beside = path.join(path.dirname(fs.realpathSync(process.execPath)), '..', 'include', 'node');
  const headers = [process.env.NODE_HEADERS, beside, '/usr/include/node'].find(
      (folder) => folder && fs.existsSync(path.join(folder, 'node_api.h')));
  if (!headers) throw new Error('dlx: found no node_api.h (NODE_HEADERS names its folder)');
  const target = path.join(root, 'build', `${name}.node`);
  fs.mkdirSync(path.dirname(target), {recursive: true});
  execFileSync(process.env.CC || 'cc', [
    '-shared', '-fPIC', '-O2', '-std=c11', '-Wall', '-Wextra', `-I${headers}`,
    path.join(root, source), '-o', target, ...flags(), '-lpthread', '-ldl',
  ], {stdio: 'inherit'});
  return target;
}

function flags() {
  try {
    const words = execFileSync('pkg-config', ['--cflags', '--libs', 'dlx'], {encoding: 'utf8'});
    return words.trim().split(/\s+/);
  } catch (error) {
    throw new Error('dlx: pkg-config does not find the installed libdlx (PKG_CONFIG_PATH)', {cause: error});
  }
}

if (require.main === module) build('src/addon.c', 'dlx');

module.exports = {build};
