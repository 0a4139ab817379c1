import 'reflect-metadata';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { apps } from './all-in-one-app.js';

it('runs every app there is', () => {
  const folder = path.join(import.meta.dirname, '../..');
  const all = readdirSync(folder).filter((name) =>
    existsSync(path.join(folder, name, 'src/app.ts')),
  );
  // The simulated bank has no line of its own: it is a part of the executor here.
  expect([...apps.map(({ name }) => name), 'bank-simulator'].toSorted()).toEqual(all.toSorted());
});
