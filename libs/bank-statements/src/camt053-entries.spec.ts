/** How much work an entry of camt.053 makes. */
import { MessagePart, readXmlElement, xmlPrefixes } from '@pis/bank-rails/xml';
import { Camt053Entries } from './camt053-entries.js';
import { CountedEntries } from './statement.js';

/** How often the children of an entry are gone through, which has this many transactions in details of their own. */
function readingsOf(transactions: number): number {
  const details = '<NtryDtls><TxDtls><Amt Ccy="USD">1</Amt></TxDtls></NtryDtls>';
  const text = `<Ntry><Amt Ccy="USD">${transactions}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>
    <BookgDt><Dt>2026-11-23</Dt></BookgDt>${details.repeat(transactions)}</Ntry>`;
  const entry = readXmlElement(text, { prefixes: xmlPrefixes, elementsMax: 100_000 });
  let readings = 0;
  const counted = {
    ...entry,
    get children() {
      readings += 1;
      return entry.children;
    },
  };
  const statement = {
    ...{ line: 1, id: null, from: null, to: null, account: null, currencyCode: 'USD' },
    ...{ opening: null, closing: null, stated: null, isGiven: true },
    ...{ booked: new CountedEntries(), all: new CountedEntries() },
  };
  const parts = [...new Camt053Entries(statement, new MessagePart(counted), 1).parts()];
  expect(parts.map(({ kind }) => kind)).toEqual(
    Array.from({ length: transactions }, () => 'entry'),
  );
  return readings;
}

it('goes through an entry as often for a thousand transactions as for two', () => {
  expect(readingsOf(1_000)).toBe(readingsOf(2));
});
