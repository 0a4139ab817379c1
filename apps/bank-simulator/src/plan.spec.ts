import { courseOf, type Plan, planOf } from './plan.js';

describe('what the simulated bank does with an account', () => {
  it.each<[string, Plan['name'], string | null]>([
    ['0101', 'return', 'R01'],
    ['0102', 'return', 'R02'],
    ['0107', 'return', 'R07'],
    ['0199', 'return', null],
    ['0204', 'refuse', null],
    ['0401', 'unconfirmed', null],
    ['0402', 'late', null],
    ['0502', 'silent', null],
    ['9001', 'return', 'R01'],
    ['9010', 'return', 'R10'],
    ['9085', 'return', 'R85'],
    ['9000', 'accept', null],
    ['9086', 'accept', null],
    ['0100', 'accept', null],
    ['6789', 'accept', null],
  ])('is decided by its last four digits: %s → %s %s', (ending, name, returnReasonCode) => {
    for (const account of [ending, `1${ending}`, `1234567890123${ending}`]) {
      const plan = planOf(account);
      expect(plan.name).toBe(name);
      if (plan.name === 'return') expect(plan.returnReasonCode).toBe(returnReasonCode);
    }
  });

  it('comes through the feed, step after step, when the bank takes its time', () => {
    expect(courseOf(planOf('0101'), 0)).toEqual({
      status: 'accepted',
      notifications: [{ type: 'returned', returnReasonCode: 'R01', afterMs: 0 }],
    });
    expect(courseOf(planOf('0101'), 40)).toEqual({
      status: 'pending',
      notifications: [
        { type: 'confirmed', returnReasonCode: null, afterMs: 40 },
        { type: 'returned', returnReasonCode: 'R01', afterMs: 80 },
      ],
    });
    expect(courseOf(planOf('4321'), 0)).toEqual({ status: 'accepted', notifications: [] });
  });
});
