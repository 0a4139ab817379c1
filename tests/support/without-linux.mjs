/** Preloaded (`node --import`) into every process of a test: the files that only Linux has are not there. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const linuxOnly = /^\/(proc|sys)(\/|$)/;
const isHidden = (path) => typeof path === 'string' && linuxOnly.test(path);

function hide(owner, name, answer) {
  const real = owner[name];
  owner[name] = (path, ...rest) => (isHidden(path) ? answer(path) : real(path, ...rest));
}

const missing = (path) => {
  throw Object.assign(new Error(`ENOENT: hidden by the test: ${path}`), { code: 'ENOENT' });
};
hide(fs, 'existsSync', () => false);
for (const name of ['readFileSync', 'readdirSync', 'openSync', 'readlinkSync', 'statSync'])
  hide(fs, name, missing);
for (const name of ['readFile', 'readdir', 'open', 'readlink', 'stat', 'access'])
  hide(fs.promises, name, async (path) => missing(path));
syncBuiltinESMExports();
