import { type BankConnection, type NamedConnection, simulatedBankTerms } from '@pis/bank-rails';
import type { PaymentRail } from '@pis/domain';
import { Banks } from './banks.js';

const away = () => Promise.reject(new Error('this test calls no bank'));
const connection: BankConnection = {
  terms: simulatedBankTerms,
  submit: away,
  inquire: away,
  void: away,
  notifications: away,
  onNotification: () => () => undefined,
  close: () => Promise.resolve(),
};
const named = (name: string, ...rails: PaymentRail[]): NamedConnection => ({
  name,
  rails,
  connection,
});

describe('The banks of a system', () => {
  it('are known by name and by rail', () => {
    const banks = new Banks([named('first', 'ACH'), named('second', 'RTP', 'FEDNOW')]);
    expect(banks.nameForRail('FEDNOW')).toBe('second');
    expect(banks.nameForRail('SWIFT')).toBe('');
    expect(banks.isConfigured('first')).toBe(true);
  });

  it('never share a name, and none is nameless', () => {
    const nameless = 'each bank needs a name of its own';
    expect(() => new Banks([named('one', 'ACH'), named('one', 'RTP')])).toThrow(nameless);
    expect(() => new Banks([named('', 'ACH')])).toThrow(nameless);
  });

  it('never share a rail: a payment goes to one bank', () => {
    const both = [named('first', 'ACH'), named('second', 'RTP', 'ACH')];
    expect(() => new Banks(both)).toThrow('two banks take ACH');
  });
});
