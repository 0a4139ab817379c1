import { maySee } from './roles.js';

it('lets a role see what the roles before it see', () => {
  expect(maySee('viewer', undefined)).toBe(true);
  expect(maySee('viewer', 'operator')).toBe(false);
  expect(maySee('operator', 'operator')).toBe(true);
  expect(maySee('approver', 'operator')).toBe(true);
  expect(maySee('approver', 'admin')).toBe(false);
  expect(maySee('admin', 'admin')).toBe(true);
});
