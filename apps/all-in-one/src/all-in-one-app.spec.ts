import 'reflect-metadata';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { allInOneApp, apps } from './all-in-one-app.js';

it('runs every app', () => {
  const folder = path.join(import.meta.dirname, '../..');
  const all = readdirSync(folder).filter((name) =>
    existsSync(path.join(folder, name, 'src/app.ts')),
  );
  // The simulated bank is not in the list: here it is part of the executor.
  expect([...apps.map(({ name }) => name), 'bank-simulator'].toSorted()).toEqual(all.toSorted());
});

it('listens only on this machine by default, and no single app does', () => {
  expect(allInOneApp(() => undefined).defaultHost).toBe('127.0.0.1');
  expect(apps.filter((app) => 'defaultHost' in app)).toEqual([]);
});
