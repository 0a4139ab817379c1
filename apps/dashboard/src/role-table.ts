/** The table of operations and roles as docs/dashboard.md shows it. */
import { userRoles } from '@pis/domain';
import type { Declared } from './operation.js';
import { mayCall, operations } from './operations.js';

export function roleTable(): string {
  const header = ['Operation', 'Method', 'Path', ...userRoles];
  const rows = Object.entries<Declared>(operations).map(([name, operation]) => [
    `\`${name}\`${operation.sandboxOnly === true ? ' (sandbox)' : ''}`,
    operation.method,
    `\`${operation.path}\``,
    ...userRoles.map((role) => {
      if (operation.role === 'anyone') return 'anyone';
      return mayCall(role, operation) ? 'yes' : 'no';
    }),
  ]);
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [
    line(header),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
}
