import { simulatesBank } from './simulated-bank.js';

it('the simulated bank runs, and demo payments are made, only where no variable names a bank', () => {
  const sandbox = {
    PIS_ENVIRONMENT: 'sandbox',
    PIS_BANKS_FILE: undefined,
    PIS_BANK_URL: undefined,
  } as const;
  expect(simulatesBank(sandbox)).toBe(true);
  expect(simulatesBank({ ...sandbox, PIS_BANKS_FILE: '/etc/pis/banks.yaml' })).toBe(false);
  expect(simulatesBank({ ...sandbox, PIS_BANK_URL: 'http://127.0.0.1:1' })).toBe(false);
  expect(simulatesBank({ ...sandbox, PIS_ENVIRONMENT: 'production' })).toBe(false);
});
