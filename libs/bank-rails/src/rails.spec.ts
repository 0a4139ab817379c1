import { randomUUID } from 'node:crypto';
import { isValidAbaRoutingNumber, paymentIdOfRailReference, railReferenceOf } from './index.js';
import { individualIdOf } from './rails/ach/ach-entry.js';
import { instructionCodeOf, uetrOf } from './rails/iso20022/identifiers.js';

describe('a routing number', () => {
  it.each(['021000021', '011000138', '121000248'])('%s is valid', (number) => {
    expect(isValidAbaRoutingNumber(number)).toBe(true);
  });

  it.each([
    ['one digit off', '021000022'],
    ['two neighbours swapped', '012000021'],
    ['eight digits', '02100002'],
    ['ten digits', '0210000210'],
    ['letters', '02100002a'],
    ['other scripts’ digits', '٠٢١٠٠٠٠٢١'],
    ['a trailing line break', '021000021\n'],
    ['nine zeros', '000000000'],
    ['nothing', ''],
  ])('is refused with %s', (_what, number) => {
    expect(isValidAbaRoutingNumber(number)).toBe(false);
  });

  it('notices every single wrong digit', () => {
    const right = '021000021';
    for (let place = 0; place < 9; place += 1)
      for (let digit = 0; digit < 10; digit += 1) {
        const text = right.slice(0, place) + String(digit) + right.slice(place + 1);
        expect(isValidAbaRoutingNumber(text)).toBe(text === right);
      }
  });
});

describe('the reference of a payment at the bank', () => {
  const extremes = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

  it('is 22 letters and digits, always the same, and leads back to the payment', () => {
    const ids = [...extremes, ...Array.from({ length: 200 }, () => randomUUID() as string)];
    for (const id of ids) {
      const reference = railReferenceOf(id);
      expect(reference).toMatch(/^[0-9A-Za-z]{22}$/);
      expect(railReferenceOf(id)).toBe(reference);
      expect(paymentIdOfRailReference(reference)).toBe(id);
    }
    expect(new Set(ids.map(railReferenceOf)).size).toBe(ids.length);
  });

  // A bank recognizes by them what an earlier release has sent. Under others it would pay again.
  it('and what each rail derives from it are the same in every release', () => {
    const reference = railReferenceOf('3b241101-e2bb-4255-8caf-4136c566a962');
    expect(reference).toBe('1nb1qA7gA14Wys7muWwvFi');
    expect(individualIdOf(reference)).toBe('W5TFWZWXIDJXVVZ');
    expect(uetrOf(reference)).toBe('f6f7826e-04ea-4ba1-9daa-013b87406a77');
    expect(instructionCodeOf(reference)).toBe('SB61L31HRXPM2HWQ');
  });

  it('needs a payment id, and leads nowhere when it is not one of ours', () => {
    expect(() => railReferenceOf('payment-1')).toThrow(RangeError);
    for (const foreign of ['', 'short', 'z'.repeat(22), '!'.repeat(22)])
      expect(paymentIdOfRailReference(foreign)).toBeNull();
  });
});
