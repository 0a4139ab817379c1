import { banner, type ReadyLine, readyLine } from './ready-line.js';
import type { SandboxDemo } from './sandbox-demo.js';

const user = { email: 'demo@demo.example', password: 'a-password' };
const demo: SandboxDemo = {
  organizationId: 'o',
  apiKey: 'pis_test_key',
  originatorIds: ['a', 'b'],
  user,
  paymentIds: ['p'],
};
const config = {} as ReadyLine['config'];
const given: ReadyLine = { url: 'http://127.0.0.1:3000', demo, config };

it('one line begins with {"ready":true and contains everything for a first call', () => {
  const line = readyLine(given);
  expect(line).toMatch(/^\{"ready":true[^\n]*\}$/);
  expect(JSON.parse(line)).toEqual({
    ready: true,
    apiUrl: 'http://127.0.0.1:3000',
    docsUrl: 'http://127.0.0.1:3000/docs',
    dashboardUrl: 'http://127.0.0.1:3000/dashboard/',
    dashboardUser: user,
    organizationId: 'o',
    apiKey: 'pis_test_key',
    originatorIds: ['a', 'b'],
  });
});

it('the banner names the dashboard and its user, and how to get a new password later', () => {
  const first = banner(given);
  expect(first).toContain('http://127.0.0.1:3000/dashboard/');
  expect(first).toContain(`${user.email}, password ${user.password}`);
  const later = { ...given, demo: { ...demo, apiKey: null, user: null } };
  expect(JSON.parse(readyLine(later))).toMatchObject({ apiKey: null, dashboardUser: null });
  expect(banner(later)).toContain('./pis user reset --id 00000000-0000-4000-8000-00000000de10');
});

it('production has no demo organization and shows no key', () => {
  expect(JSON.parse(readyLine({ ...given, demo: null }))).toMatchObject({
    organizationId: null,
    apiKey: null,
    originatorIds: [],
    dashboardUser: null,
  });
  expect(banner({ ...given, demo: null })).toContain('production');
});

it('links follow the public address', () => {
  const line = readyLine({
    ...given,
    config: { ...config, PIS_PUBLIC_URL: 'https://pay.example/' },
  });
  expect(JSON.parse(line)).toMatchObject({
    docsUrl: 'https://pay.example/docs',
    dashboardUrl: 'https://pay.example/dashboard/',
  });
});
