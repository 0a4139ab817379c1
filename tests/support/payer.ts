/** What a payer does on the page of a payment link, in a browser and in English. */
import type { Page } from 'playwright-core';

export const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

const account = '000123456789';
const texts = {
  'Routing number': '021000021',
  'Account number': account,
  'Confirm account number': account,
  'Address line 1': '12 St James Square',
  City: 'Sacramento',
  State: 'CA',
  'ZIP code': '95814',
};

/** Fills in the whole form. `changes` are by the names of the fields. */
export async function fillBankDetails(
  page: Page,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  await page.getByLabel('Account type').selectOption('Checking');
  for (const [label, text] of Object.entries({ ...texts, ...changes }))
    await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByLabel('Country').selectOption('United States');
}

export const submitBankDetails = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Submit bank details' }).click();

/** Waits for the page with this heading. */
export const headed = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { name, level: 1 }).waitFor();
