/** Every path of the reference: with and without the slash, and only with its methods. */
import { randomUUID } from 'node:crypto';
import { openApiDocument } from '@pis/contracts';
import { type Call, type Gateway, startGateway, type Tenant } from './testing/gateway.js';
import { codeOf } from './testing/payments.js';

type Method = NonNullable<Call['method']>;
const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const { paths } = openApiDocument({ sandbox: true }) as unknown as {
  paths: Record<string, Record<string, unknown>>;
};
const routes = Object.entries(paths).map(([template, operations]) => {
  const path = template.replaceAll(/\{\w+\}/g, () => randomUUID());
  const without = path.replace(/\/$/, '');
  const offered = Object.keys(operations).map((method) => method.toUpperCase() as Method);
  if (offered.includes('GET')) offered.push('HEAD');
  return { template, spellings: [without, `${without}/`], offered };
});

let gateway: Gateway;
let tenant: Tenant;
beforeAll(async () => {
  const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
  gateway = await startGateway({ databaseUrl, projects: false });
  tenant = await gateway.createTenant();
});
afterAll(() => gateway?.close());

describe.each(routes)('$template', ({ spellings, offered }) => {
  it('is the same with and without a slash at the end', async () => {
    for (const path of spellings)
      for (const method of offered) {
        const { status } = await gateway.call(path, { tenant, method, key: null });
        expect([path, method, status]).toEqual([path, method, 401]);
      }
  });

  it('does not exist for other methods, with a key or without', async () => {
    for (const path of spellings)
      for (const method of methods.filter((one) => !offered.includes(one)))
        for (const key of [null, tenant.keys.full_access]) {
          const reply = await gateway.call(path, { tenant, method, key });
          const answered = method === 'HEAD' ? `${reply.status} NOT_FOUND` : codeOf(reply);
          expect([path, method, answered]).toEqual([path, method, '404 NOT_FOUND']);
        }
  });

  it('answers HEAD as GET, without the body', async () => {
    for (const path of offered.includes('GET') ? spellings : []) {
      const [get, head] = await Promise.all(
        (['GET', 'HEAD'] as const).map((method) => gateway.call(path, { tenant, method })),
      );
      expect(head?.body).toBeNull();
      expect([path, head?.status]).toEqual([path, get?.status]);
      expect(head?.headers['content-type']).toBe(get?.headers['content-type']);
    }
  });
});

it('does not exist with two slashes at the end, or in another case', async () => {
  for (const path of [
    '/v1/payments//',
    '//v1/payments',
    '/v1/Payments',
    '/V1/payments',
    '/v1//payments',
  ])
    expect([path, codeOf(await gateway.call(path, { tenant }))]).toEqual([path, '404 NOT_FOUND']);
});
