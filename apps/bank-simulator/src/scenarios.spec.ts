import { readFileSync } from 'node:fs';
import { courseOf } from './course.js';
import { defaultScenariosPath } from './scenario-file.js';
import {
  BadScenarios,
  codeOf,
  type Outcome,
  parseScenarios,
  scenarioOf,
  type Transfer,
} from './scenarios.js';

const transfer: Transfer = {
  rail: 'RTP',
  direction: 'OUTBOUND',
  amountMinor: 12_345,
  accountNumber: '77665544321',
  routingNumber: '011000138',
  name: 'Ada Lovelace',
};
const ending = (digits: string): Transfer => ({ ...transfer, accountNumber: `7766${digits}` });
const standard = parseScenarios(readFileSync(defaultScenariosPath, 'utf8'));

describe('the default scenarios', () => {
  it.each<[string, Outcome, string | null]>([
    ['0101', 'return', 'R01'],
    ['0102', 'return', 'R02'],
    ['0107', 'return', 'R07'],
    ['0199', 'return', null],
    ['0204', 'reject', null],
    ['0401', 'no_confirmation', null],
    ['0402', 'late_confirmation', null],
    ['0502', 'hold', null],
    ['9001', 'return', 'R01'],
    ['9010', 'return', 'R10'],
    ['9085', 'return', 'R85'],
    // The executor's own checks decide these; the bank would accept them.
    ['0201', 'accept', null],
    ['0202', 'accept', null],
    ['0203', 'accept', null],
    ['0301', 'accept', null],
    ['0501', 'accept', null],
    ['9000', 'accept', null],
    ['9086', 'accept', null],
    ['0100', 'accept', null],
    ['6789', 'accept', null],
  ])('an account that ends in %s: %s %s', (digits, outcome, code) => {
    for (const account of [digits, `1${digits}`, `1234567890123${digits}`]) {
      const one = { ...transfer, accountNumber: account };
      const scenario = scenarioOf(standard, one);
      expect([scenario.outcome, codeOf(scenario, one)]).toEqual([outcome, code]);
    }
  });
});

describe('the default scenarios of prenotes', () => {
  const prenote = (digits: string): Transfer => ({
    ...ending(digits),
    rail: 'ACH',
    amountMinor: 0,
  });
  it.each(['0101', '0102', '0204', '0401', '0502', '9003', '4321'])(
    'an account that ends in %s: accepted, because the scenario is about payments',
    (digits) => {
      expect(scenarioOf(standard, prenote(digits)).outcome).toBe('accept');
      expect(scenarioOf(standard, prenote(digits)).name).toBe('accepted');
    },
  );
  it('two endings are answered, and only in prenotes', () => {
    expect(scenarioOf(standard, prenote('0211'))).toMatchObject({ outcome: 'return', code: 'R03' });
    expect(scenarioOf(standard, prenote('0212'))).toMatchObject({ correction: { code: 'C01' } });
    for (const digits of ['0211', '0212'])
      expect(scenarioOf(standard, ending(digits)).name).toBe('accepted');
  });
});

describe('the scenario of a transfer', () => {
  const outcomeOf = (match: string, one = transfer) =>
    scenarioOf(parseScenarios(`scenarios: [{ name: x, match: ${match}, outcome: hold }]`), one)
      .outcome;

  it.each([
    [`{ accountEndsWith: '4321' }`, ending('0000')],
    [`{ accountEndsWith: ['0001', '4321'] }`, ending('0000')],
    [`{ accountEndsWith: { from: '4000', to: '4999' } }`, ending('5000')],
    [`{ amountFrom: 12345 }`, { ...transfer, amountMinor: 12_344 }],
    [`{ amountTo: 12345 }`, { ...transfer, amountMinor: 12_346 }],
    [`{ name: LOVE }`, { ...transfer, name: 'Grace Hopper' }],
    [`{ routingNumber: '011000138' }`, { ...transfer, routingNumber: '021000021' }],
    [`{ rail: [RTP, FEDNOW] }`, { ...transfer, rail: 'ACH' as const }],
    [`{ direction: OUTBOUND }`, { ...transfer, direction: 'INBOUND' as const }],
    [`{ rail: RTP, accountEndsWith: '4321' }`, { ...transfer, rail: 'ACH' as const }],
  ])('matches by %s', (match, other) => {
    expect(outcomeOf(match)).toBe('hold');
    expect(outcomeOf(match, other)).toBe('accept');
  });

  it('is the first one that matches, and without any the transfer is accepted', () => {
    const scenarios = parseScenarios(`scenarios:
      - { name: first, match: { rail: RTP }, outcome: hold }
      - { name: all, outcome: reject, code: AC04 }`);
    expect(scenarioOf(scenarios, transfer).name).toBe('first');
    expect(scenarioOf(scenarios, { ...transfer, rail: 'ACH' }).name).toBe('all');
    expect(scenarioOf([], transfer).outcome).toBe('accept');
  });

  it.each([
    ['an unknown outcome', '{ name: x, outcome: explode }', /line 1: scenarios\.0\.outcome/],
    ['an unknown field', '{ name: x, outcome: hold, mach: {} }', /mach/],
    [
      'a number in place of digits',
      '{ name: x, match: { accountEndsWith: 101 }, outcome: hold }',
      /accountEndsWith/,
    ],
    [
      'a rail that does not exist',
      '{ name: x, match: { rail: SEPA }, outcome: hold }',
      /match\.rail/,
    ],
    ['a code on an outcome that has none', '{ name: x, outcome: hold, code: R01 }', /code/],
    [
      'a range that runs backwards',
      `{ name: x, match: { accountEndsWith: { from: '2', to: '1' } }, outcome: hold }`,
      /accountEndsWith/,
    ],
    ['too many deliveries', '{ name: x, outcome: accept, duplicate: 50 }', /duplicate/],
  ])('refuses %s and says where', (_what, rule, message) => {
    expect(() => parseScenarios(`scenarios: [${rule}]`)).toThrow(message);
    expect(() => parseScenarios(`scenarios: [${rule}]`)).toThrow(BadScenarios);
  });
});

describe('what becomes of a transfer', () => {
  const course = (rule: string, delayMs = 0) => {
    const scenario = parseScenarios(`scenarios: [${rule}]`)[0] ?? scenarioOf([], transfer);
    return courseOf(scenario, transfer, delayMs);
  };
  const report = { code: null, corrected: null };

  it('is decided at once by a bank without delay', () => {
    expect(course('{ name: x, outcome: accept }')).toMatchObject({
      status: 'accepted',
      reports: [],
    });
    expect(course('{ name: x, outcome: reject, code: AC04 }')).toMatchObject({
      status: 'refused',
      code: 'AC04',
      reports: [],
    });
    expect(course('{ name: x, outcome: return, code: R01 }')).toMatchObject({
      status: 'accepted',
      reports: [{ type: 'returned', code: 'R01', afterMs: 0 }],
    });
  });

  it('is reported step by step by a bank that takes its time', () => {
    const returned = course('{ name: x, outcome: return, code: R01 }', 40);
    expect(returned).toMatchObject({ status: 'pending' });
    expect(returned.reports).toEqual([
      { ...report, type: 'confirmed', afterMs: 40 },
      { ...report, type: 'returned', code: 'R01', afterMs: 80 },
    ]);
    expect(course('{ name: x, outcome: reject }', 40).reports).toEqual([
      { ...report, type: 'rejected', afterMs: 40 },
    ]);
  });

  it('follows the times of the scenario before those of the bank', () => {
    const own = '{ name: x, outcome: return, delayMs: 5, returnAfterMs: 1000 }';
    expect(course(own, 40).reports.map(({ afterMs }) => afterMs)).toEqual([5, 1_005]);
    const late = '{ name: x, outcome: late_confirmation, lateMs: 700 }';
    expect(course(late, 40).reports).toEqual([{ ...report, type: 'confirmed', afterMs: 700 }]);
  });

  it('includes a notification of change', () => {
    const rule = `{ name: x, outcome: accept, correction: { code: C01, corrected: '1918171614' } }`;
    expect(course(rule).reports).toEqual([
      { type: 'corrected', code: 'C01', corrected: '1918171614', afterMs: 0 },
    ]);
  });
});
