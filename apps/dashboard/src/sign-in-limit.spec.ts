import { failuresPerNetworkMax, SignInLimit } from './sign-in-limit.js';

it('counts the networks of an IPv6 site together', async () => {
  const limit = new SignInLimit(true);
  const fail = (network: number, site = 'a') =>
    limit.attempt(
      `2001:db8:${site}:${network}::1`,
      () => Promise.resolve('wrong'),
      () => true,
    );
  for (let network = 1; network <= 2 * failuresPerNetworkMax; network += 1)
    expect(await fail(network)).toBe('wrong');
  await expect(fail(1_000)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await fail(1, 'b')).toBe('wrong');
});
