/**
 * Writes camt.053.001.08, BankToCustomerStatement. One statement per account. Tests validate it against ISO's schema.
 */
import { type XmlPart, optionalPart, part, xmlText } from '@pis/bank-rails/xml';
import { typeCodeOf } from './bai2-codes.js';
import {
  type AccountStatement,
  type AccountWithEntries,
  type BankEntry,
  checkAccount,
  checkedEntries,
  checkFile,
  closingMinor,
  decimalOf,
  type EntryTotals,
  type StatementFile,
} from './statement.js';

const camt053Namespace = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';
/** Max70Text. */
const accountNameMax = 70;

/**
 * A file needs at least one account.
 * @throws RangeError for what the format cannot say, or when entries do not add up to the totals given
 */
export async function* writeCamt053(
  file: StatementFile,
  accounts: AsyncIterable<AccountWithEntries>,
): AsyncGenerator<string> {
  checkFile(file);
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${camt053Namespace}"><BkToCstmrStmt>\n`;
  yield `${xmlText(groupHeader(file))}\n`;
  let written = 0;
  for await (const account of accounts) {
    checkAccount(account);
    yield '<Stmt>\n';
    for (const one of statementParts(file, account)) yield `${xmlText(one)}\n`;
    for await (const entry of checkedEntries(account)) yield `${xmlText(entryPart(entry))}\n`;
    yield '</Stmt>\n';
    written += 1;
  }
  if (written === 0) throw new RangeError('camt.053 needs at least one account');
  yield '</BkToCstmrStmt></Document>\n';
}

function groupHeader({ fileId, createdAt, receiver }: StatementFile): XmlPart {
  return part('GrpHdr', [
    part('MsgId', fileId),
    part('CreDtTm', createdAt.toISOString()),
    part('MsgRcpt', [part('Nm', receiver)]),
  ]);
}

function* statementParts(
  { createdAt, sender }: StatementFile,
  account: AccountStatement,
): Generator<XmlPart> {
  const { accountId, accountName, statementId, from, to, openingMinor, credits, debits } = account;
  yield part('Id', statementId);
  yield part('CreDtTm', createdAt.toISOString());
  yield part('FrToDt', [part('FrDtTm', `${from}T00:00:00`), part('ToDtTm', `${to}T23:59:59`)]);
  yield part('Acct', [
    part('Id', [part('Othr', [part('Id', accountId)])]),
    part('Ccy', 'USD'),
    optionalPart('Nm', accountName === null ? null : nameText(accountName)),
    part('Svcr', [part('FinInstnId', [part('Nm', sender)])]),
  ]);
  yield balance('OPBD', openingMinor, from);
  yield balance('CLBD', closingMinor(account), to);
  const net = credits.sumMinor - debits.sumMinor;
  yield part('TxsSummry', [
    part('TtlNtries', [
      part('NbOfNtries', String(credits.count + debits.count)),
      part('Sum', decimalOf(credits.sumMinor + debits.sumMinor)),
      part('TtlNetNtry', [part('Amt', decimalOf(net)), indicator(net)]),
    ]),
    total('TtlCdtNtries', credits),
    total('TtlDbtNtries', debits),
  ]);
}

/** Without characters that XML does not take; null when nothing is left. */
function nameText(name: string): string | null {
  const kept = [...name.replaceAll(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, ' ').trim()];
  const text = kept.slice(0, accountNameMax).join('').trim();
  return text === '' ? null : text;
}

function balance(code: 'OPBD' | 'CLBD', minor: bigint, date: string): XmlPart {
  return part('Bal', [
    part('Tp', [part('CdOrPrtry', [part('Cd', code)])]),
    amount(minor),
    indicator(minor),
    part('Dt', [part('Dt', date)]),
  ]);
}

function total(name: string, { count, sumMinor }: EntryTotals): XmlPart {
  return part(name, [part('NbOfNtries', String(count)), part('Sum', decimalOf(sumMinor))]);
}

function entryPart(entry: BankEntry): XmlPart {
  const { side, status, bookedOn, bankReference } = entry;
  const minor = BigInt(entry.amountMinor);
  const direction = part('CdtDbtInd', side === 'credit' ? 'CRDT' : 'DBIT');
  const day = [part('Dt', bookedOn)];
  return part('Ntry', [
    amount(minor),
    direction,
    entry.isReturn ? part('RvslInd', 'true') : null,
    part('Sts', [part('Cd', status === 'booked' ? 'BOOK' : 'PDNG')]),
    part('BookgDt', day),
    part('ValDt', day),
    optionalPart('AcctSvcrRef', bankReference),
    part('BkTxCd', [part('Prtry', [part('Cd', typeCodeOf(entry)), part('Issr', 'BAI')])]),
    part('NtryDtls', [part('TxDtls', transactionParts(entry, [amount(minor), direction]))]),
  ]);
}

function transactionParts(entry: BankEntry, money: readonly XmlPart[]): (XmlPart | null)[] {
  const { rail, isReturn, returnReasonCode } = entry;
  const reason =
    returnReasonCode === null ? null : part('Rsn', [reasonPart(rail, returnReasonCode)]);
  return [
    part('Refs', [
      optionalPart('AcctSvcrRef', entry.bankReference),
      part('EndToEndId', entry.reference ?? notProvided),
      optionalPart('ClrSysRef', entry.traceNumber),
    ]),
    ...money,
    rail === null ? null : part('LclInstrm', [part('Prtry', rail)]),
    isReturn ? part('RtrInf', [reason]) : null,
  ];
}

/** ISO 20022's word for a transfer without an end-to-end ID. */
const notProvided = 'NOTPROVIDED';

/** R codes of ACH are no codes of ISO's list. */
function reasonPart(rail: BankEntry['rail'], code: string): XmlPart {
  return part(rail === 'ACH' || /^R\d\d$/.test(code) ? 'Prtry' : 'Cd', code);
}

function amount(minor: bigint): XmlPart {
  return part('Amt', decimalOf(minor), { Ccy: 'USD' });
}

/** An amount of zero counts as a credit. */
function indicator(minor: bigint): XmlPart {
  return part('CdtDbtInd', minor < 0n ? 'DBIT' : 'CRDT');
}
