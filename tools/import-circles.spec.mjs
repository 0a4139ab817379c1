/** Proves that no source files import each other in a circle. Imports of types count too. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const relativeImport = /\bfrom '(\.[^']*)\.js'/g;

/** The source files of all projects, each with the files that it imports by a relative path. */
function importGraph() {
  const folders = ['apps', 'libs'].flatMap((kind) =>
    readdirSync(join(root, kind)).map((project) => join(kind, project, 'src')),
  );
  const files = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
    )
    .filter((file) => /\.tsx?$/.test(file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const paths = [...text.matchAll(relativeImport)].map(([, path]) =>
        normalize(join(dirname(file), path)),
      );
      return [file, paths.flatMap((path) => [`${path}.ts`, `${path}.tsx`])];
    }),
  );
}

/** The first circle found, as the files along it. Null without one. */
function circleIn(graph) {
  const done = new Set();
  const visit = (file, trail) => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const imported of graph.get(file) ?? []) {
      const circle = visit(imported, [...trail, file]);
      if (circle !== null) return circle;
    }
    done.add(file);
    return null;
  };
  for (const file of graph.keys()) {
    const circle = visit(file, []);
    if (circle !== null) return circle;
  }
  return null;
}

it('no source files import each other in a circle', () => {
  const graph = importGraph();
  expect(graph.size).toBeGreaterThan(300);
  expect(circleIn(graph)).toBeNull();
});

it('a circle is detected', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ]);
  expect(circleIn(graph)).toEqual(['b', 'd', 'b']);
});
