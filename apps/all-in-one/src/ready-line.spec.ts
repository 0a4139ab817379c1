import { banner, readyLine } from './ready-line.js';

const demo = { organizationId: 'o', apiKey: 'pis_test_key', originatorIds: ['a', 'b'] };
const config = {} as Parameters<typeof readyLine>[2];

it('one line begins with {"ready":true and holds all that a first call needs', () => {
  const line = readyLine('http://127.0.0.1:3000', demo, config);
  expect(line).toMatch(/^\{"ready":true[^\n]*\}$/);
  expect(JSON.parse(line)).toEqual({
    ready: true,
    apiUrl: 'http://127.0.0.1:3000',
    dashboardUrl: 'http://127.0.0.1:3000/dashboard/',
    docsUrl: 'http://127.0.0.1:3000/docs',
    organizationId: 'o',
    apiKey: 'pis_test_key',
    originatorIds: ['a', 'b'],
  });
});

it('production has no demo organization and shows no key', () => {
  expect(JSON.parse(readyLine('http://x', null, config))).toMatchObject({
    organizationId: null,
    apiKey: null,
    originatorIds: [],
  });
  expect(banner('http://x', null)).toContain('production');
});

it('links follow the public address', () => {
  const line = readyLine('http://127.0.0.1:3000', demo, {
    ...config,
    PIS_PUBLIC_URL: 'https://pay.example/',
  });
  expect(JSON.parse(line)).toMatchObject({ docsUrl: 'https://pay.example/docs' });
});
