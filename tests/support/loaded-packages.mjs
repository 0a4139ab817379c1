/** Preloaded into a process (`node --import`): its last line on stderr is the npm packages that it loaded, as JSON. */
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';

const stderr = 2;
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});
process.on('exit', () => writeSync(stderr, `${JSON.stringify([...packages])}\n`));
