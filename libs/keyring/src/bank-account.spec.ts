import {
  fingerprintAtRest,
  fingerprintOf,
  openBankAccount,
  openBankCodes,
  sealBankAccount,
} from './bank-account.js';
import { maskNumber } from './masking.js';
import { testKeyring } from './testing.js';

const owner = 'contact:1';
const input = {
  subType: 'CHECKING' as const,
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
  swiftCode: 'CHASUS33XXX',
};

describe('bank accounts at rest', () => {
  const keyring = testKeyring();
  const seal = (account = input) => sealBankAccount(keyring, owner, account, 'JPMorgan Chase');

  it('shows asterisks and the last four characters of each number', async () => {
    const { sealed, ...shown } = await seal();
    expect(shown).toEqual({
      bankName: 'JPMorgan Chase',
      subType: 'CHECKING',
      achRoutingNumber: '*****0021',
      achAccountNumber: '********6789',
      swiftCode: '*******3XXX',
    });
    expect(JSON.stringify({ ...shown, sealed })).not.toMatch(/000123456789|021000021/);
  });

  it('opens the full numbers for their owner', async () => {
    expect(await openBankAccount(keyring, await seal(), owner)).toEqual({
      achRoutingNumber: '021000021',
      achAccountNumber: '000123456789',
      swiftCode: 'CHASUS33XXX',
    });
    await expect(openBankAccount(keyring, await seal(), 'contact:2')).rejects.toThrow();
  });

  it('tells where it is without its number', async () => {
    expect(await openBankCodes(keyring, await seal(), owner)).toEqual({
      achRoutingNumber: '021000021',
      swiftCode: 'CHASUS33XXX',
    });
  });

  it('recognizes the same account sealed twice, and any difference', async () => {
    const atRest = await fingerprintAtRest(keyring, await seal(), owner);
    expect(atRest).toBe(fingerprintOf(keyring, input));
    const others = [
      { ...input, achAccountNumber: '000123456780' },
      { ...input, achRoutingNumber: '011401533' },
      { ...input, subType: 'SAVINGS' as const },
    ];
    for (const other of others)
      expect(fingerprintOf(keyring, other)).not.toBe(fingerprintOf(keyring, input));
  });

  it.each([
    ['12345678901234567', '*************4567'],
    ['12345', '*2345'],
    ['1234', '**34'],
    ['123', '*23'],
    ['12', '12'],
    ['', ''],
  ])('shows the number %s as %s', (number, masked) => {
    expect(maskNumber(number)).toBe(masked);
  });
});
