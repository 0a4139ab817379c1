import { banner, type ReadyLine, readyLine } from './ready-line.js';

const demo = { organizationId: 'o', apiKey: 'pis_test_key', originatorIds: ['a', 'b'] };
const config = {} as ReadyLine['config'];
const given: ReadyLine = { url: 'http://127.0.0.1:3000', demo, config };

it('one line begins with {"ready":true and contains everything for a first call', () => {
  const line = readyLine(given);
  expect(line).toMatch(/^\{"ready":true[^\n]*\}$/);
  expect(JSON.parse(line)).toEqual({
    ready: true,
    apiUrl: 'http://127.0.0.1:3000',
    docsUrl: 'http://127.0.0.1:3000/docs',
    organizationId: 'o',
    apiKey: 'pis_test_key',
    originatorIds: ['a', 'b'],
  });
});

it('production has no demo organization and shows no key', () => {
  expect(JSON.parse(readyLine({ ...given, demo: null }))).toMatchObject({
    organizationId: null,
    apiKey: null,
    originatorIds: [],
  });
  expect(banner('http://x', null)).toContain('production');
});

it('links follow the public address', () => {
  const line = readyLine({
    ...given,
    config: { ...config, PIS_PUBLIC_URL: 'https://pay.example/' },
  });
  expect(JSON.parse(line)).toMatchObject({
    docsUrl: 'https://pay.example/docs',
  });
});
