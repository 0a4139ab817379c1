import { networkInterfaces } from 'node:os';
import { egressPolicy, type OwnHost } from './egress-policy.js';
import type { Lookup } from './lookup.js';

const names: Record<string, string[]> = {
  'db.example': ['10.0.0.5', 'fd00::5'],
  'bank.example': ['93.184.216.34'],
};
const lookup: Lookup = (name) => {
  const found = names[name];
  return found ? Promise.resolve(found) : Promise.reject(new Error('no such host'));
};
const policyWith = (...ownHosts: OwnHost[]) =>
  egressPolicy({ allowedNetworks: ['127.0.0.0/8', '10.0.0.0/8', '::1/128'], ownHosts }, lookup);

/** Whether the address may be connected to on this port, under a neutral name. */
async function isOpen(policy: ReturnType<typeof policyWith>, address: string, port: number) {
  const { permitted } = await policy.judge('hooks.example', port, [address]);
  return permitted.length > 0;
}

describe('In a network that the operator exempts', () => {
  it('our own hosts stay closed, by address and port', async () => {
    const policy = policyWith({ host: 'db.example', port: 5432 });
    expect(await isOpen(policy, '10.0.0.5', 5432)).toBe(false);
    expect(await isOpen(policy, '::ffff:10.0.0.5', 5432)).toBe(false);
    expect(await isOpen(policy, '10.0.0.5', 8443)).toBe(true);
    expect(await isOpen(policy, '10.0.0.6', 5432)).toBe(true);
  });

  it('they stay closed by name, whatever it resolves to', async () => {
    const policy = policyWith({ host: 'db.example', port: 5432 });
    for (const name of ['db.example', 'DB.example.'])
      expect(await policy.judge(name, 5432, ['10.9.9.9'])).toEqual({ permitted: [], exempted: [] });
  });

  it.each(['127.0.0.1', '0.0.0.0', 'localhost', '::1'])(
    'a service listening here at %s is closed at every address of this machine',
    async (host) => {
      const policy = policyWith({ host, port: 3000 });
      for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
        expect(await isOpen(policy, address, 3000)).toBe(false);
      expect(await isOpen(policy, '127.0.0.1', 8443)).toBe(true);
      const mine = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
      for (const { address } of mine) expect(await isOpen(policy, address, 3000)).toBe(false);
    },
  );

  it('our ports are closed on every host while the name of our host does not resolve', async () => {
    const policy = policyWith({ host: 'gone.example', port: 9092 });
    expect(await isOpen(policy, '10.0.0.9', 9092)).toBe(false);
    expect(await isOpen(policy, '10.0.0.9', 9093)).toBe(true);
  });
});

it('A public receiver may share an address with our bank behind the same network', async () => {
  const policy = policyWith({ host: 'bank.example', port: 443 });
  expect(await isOpen(policy, '93.184.216.34', 443)).toBe(true);
  expect(policy.isOwnName('bank.example', 443)).toBe(true);
});

it('An exempt address is distinguished from a public one', async () => {
  const addresses = ['8.8.8.8', '10.0.0.1', '192.168.0.1'];
  expect(await policyWith().judge('hooks.example', 443, addresses)).toEqual({
    permitted: ['8.8.8.8', '10.0.0.1'],
    exempted: ['10.0.0.1'],
  });
});
