import { readFileSync } from 'node:fs';
import path from 'node:path';
import { roleTable } from './role-table.js';

it('docs/dashboard.md shows who may call which operation', () => {
  const file = path.join(import.meta.dirname, '../../../docs/dashboard.md');
  const text = readFileSync(file, 'utf8');
  const [, shown] = /<!-- roles -->\n\n([\s\S]*?)\n\n<!-- end of roles -->/.exec(text) ?? [];
  expect(shown).toBe(roleTable());
});
