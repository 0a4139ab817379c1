import { meQuery, queryClient, signedIn, signedOut } from './queries.js';

const fetched = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = fetched;
  queryClient.clear();
});

const me = (userId: string) => ({
  ...{ userId, organizationId: 'one', organizationName: 'One', email: `${userId}@one.example` },
  ...({ role: 'admin', oneTimeCodes: false, environment: 'sandbox' } as const),
});
const shown = ['payments', 'list'];

async function seen(): Promise<void> {
  queryClient.setQueryData(shown, ['a payment']);
  const cache = queryClient.getMutationCache();
  await cache.build(queryClient, { mutationFn: async () => 'a new key' }).execute(undefined);
  expect(cache.getAll()).toHaveLength(1);
}
function expectNothing(): void {
  expect(queryClient.getQueryData(shown)).toBeUndefined();
  expect(queryClient.getMutationCache().getAll()).toEqual([]);
}

it('keeps nothing of a user who signs out, not even secrets that were shown once', async () => {
  signedIn(me('ada'));
  await seen();
  signedOut();
  expectNothing();
});

it('keeps nothing of a user when another signs in, in another tab of the browser', async () => {
  signedIn(me('ada'));
  await seen();
  const answer = { data: me('bob') };
  globalThis.fetch = async () => new Response(JSON.stringify(answer));
  const is = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
  expect(is).toMatchObject({ userId: 'bob' });
  expectNothing();
});

it('keeps what is known while the user stays the same', async () => {
  signedIn(me('ada'));
  await seen();
  const answer = { data: me('ada') };
  globalThis.fetch = async () => new Response(JSON.stringify(answer));
  await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
  expect(queryClient.getQueryData(shown)).toEqual(['a payment']);
});
