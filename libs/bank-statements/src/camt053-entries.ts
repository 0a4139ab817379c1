/** An `Ntry` of camt.053: one booking, of one transaction or of several together. */
import { type MessagePart, MessageRefused } from '@pis/bank-rails/xml';
import { type PaymentRail, paymentRails } from '@pis/domain';
import { saidBy } from './bai2-codes.js';
import { amountOf, dateOf, sideIn, type Statement } from './camt053-statement.js';
import { amountMaxMinor, type BankEntry } from './statement.js';
import { compared, identifierOf, type StatementPart } from './statement-parts.js';

/** Sub-families of ISO's bank transaction codes for money that comes back. */
const returnFamilies: readonly string[] = ['RRTN', 'UPDD', 'UPCT', 'ARET', 'AREV', 'RPCR', 'PRDD'];
const booked = 'BOOK';
const notBooked: readonly string[] = ['PDNG', 'INFO', 'FUTR'];

/** What an entry says of all its transactions. */
type EntryFacts = Pick<BankEntry, 'bankReference' | 'bookedOn' | 'rail' | 'isReturn'>;

export class Camt053Entries {
  constructor(
    private readonly statement: Statement,
    private readonly entry: MessagePart,
    private readonly line: number,
  ) {}

  *parts(): Generator<StatementPart> {
    const { entry, line, statement } = this;
    const { minor, currencyCode } = amountOf(entry.one('Amt'));
    const own = statement.currencyCode ?? 'USD';
    if (currencyCode !== 'USD' || own !== 'USD') {
      yield { kind: 'foreign', line, currencyCode: currencyCode === 'USD' ? own : currencyCode };
      return;
    }
    const side = sideIn(entry);
    const status = this.status();
    const booking = { side, amountMinor: possible(minor), status };
    statement.all.add({ ...booking, status: 'booked' });
    statement.booked.add(booking);
    // Information without money.
    if (minor === 0n) return;
    const facts = this.facts();
    const transactions = entry.all('NtryDtls').flatMap((details) => details.all('TxDtls'));
    const [first] = transactions;
    if (transactions.length <= 1) {
      const stated = first?.maybe('Amt') ?? null;
      if (stated !== null) {
        const { minor: inside, currencyCode: code } = amountOf(stated);
        if (code === 'USD')
          yield* compared(line, 'amount of the transaction in an entry', inside, minor);
      }
      yield { kind: 'entry', line, entry: bankEntry(facts, first ?? null, booking) };
      return;
    }
    let sum: bigint | null = 0n;
    for (const transaction of transactions) {
      const { minor: amount, currencyCode: code } = transactionAmount(transaction);
      if (code !== 'USD') {
        // What it moved in USD is not said: it cannot be matched, and the sum cannot be compared.
        const what = 'currency of a transaction in an entry';
        yield { kind: 'contradiction', line, what, stated: own, found: code };
        sum = null;
        continue;
      }
      const indicator = transaction.maybe('CdtDbtInd');
      const itsSide = indicator === null ? side : sideIn(transaction);
      if (sum !== null) sum += itsSide === side ? amount : -amount;
      const its = { side: itsSide, amountMinor: possible(amount), status };
      yield { kind: 'entry', line, entry: bankEntry(facts, transaction, its) };
    }
    if (sum !== null) yield* compared(line, 'sum of the transactions in an entry', minor, sum);
  }

  /** A code since version 7, a text before. */
  private status(): BankEntry['status'] {
    const status = this.entry.one('Sts');
    const code = status.text('Cd') ?? status.element.text;
    if (code === booked) return 'booked';
    if (notBooked.includes(code)) return 'pending';
    throw new MessageRefused('Sts is not known');
  }

  /** Read once: an entry may have thousands of transactions, and each reading goes through all its children. */
  private facts(): EntryFacts {
    const { entry, statement } = this;
    const code = this.proprietaryCode();
    const said = code === null ? null : saidBy(code, '');
    const isReversal = ['true', '1'].includes(entry.text('RvslInd') ?? '');
    return {
      bankReference: identifierOf(entry.text('AcctSvcrRef')) ?? identifierOf(entry.text('NtryRef')),
      bookedOn: this.bookedOn() ?? statement.to ?? unknownDate(),
      rail: said?.rail ?? null,
      isReturn: isReversal || hasReturnCode(entry) || said?.isReturn === true,
    };
  }

  /** The day as the bank wrote it, in its own time zone: it keeps its books by that day. An offset does not move it. */
  private bookedOn(): string | null {
    for (const name of ['BookgDt', 'ValDt']) {
      const day = this.entry.maybe(name);
      const date = dateOf(day?.text('Dt') ?? day?.text('DtTm') ?? null);
      if (date !== null) return date;
    }
    return null;
  }

  /** A type code of BAI, which many banks give. */
  private proprietaryCode(): string | null {
    const proprietary = this.entry.maybe('BkTxCd')?.maybe('Prtry') ?? null;
    return proprietary?.text('Issr') === 'BAI' ? proprietary.text('Cd') : null;
  }
}

function bankEntry(
  own: EntryFacts,
  transaction: MessagePart | null,
  booking: Pick<BankEntry, 'side' | 'amountMinor' | 'status'>,
): BankEntry {
  const refs = transaction?.maybe('Refs') ?? null;
  const ref = (name: string) => identifierOf(refs?.text(name));
  const ids = ['EndToEndId', 'InstrId', 'TxId'].map(ref);
  const traces = [ref('ClrSysRef'), ref('TxId'), ref('AcctSvcrRef'), ref('InstrId')];
  const returned = transaction?.maybe('RtrInf') ?? null;
  const reason = returned?.maybe('Rsn') ?? null;
  return {
    bankReference: ref('AcctSvcrRef') ?? own.bankReference,
    reference: ids.find((id) => id !== null) ?? null,
    traceNumber: traces.find((id) => id !== null && /^\d{15}$/.test(id)) ?? null,
    ...booking,
    bookedOn: own.bookedOn,
    rail: railOf(transaction) ?? own.rail,
    isReturn: own.isReturn || returned !== null || hasReturnCode(transaction),
    returnReasonCode: identifierOf(reason?.text('Cd') ?? reason?.text('Prtry')),
  };
}

function hasReturnCode(part: MessagePart | null): boolean {
  const family = part?.maybe('BkTxCd')?.maybe('Domn')?.maybe('Fmly') ?? null;
  return returnFamilies.includes(family?.text('SubFmlyCd') ?? '');
}

/** @throws MessageRefused when a booking of several transactions does not say what each moved */
function transactionAmount(transaction: MessagePart): ReturnType<typeof amountOf> {
  const amount =
    transaction.maybe('Amt') ?? transaction.maybe('AmtDtls')?.maybe('TxAmt')?.maybe('Amt') ?? null;
  if (amount === null)
    throw new MessageRefused('a booking of several transactions needs the amount of each');
  return amountOf(amount);
}

function possible(minor: bigint): number {
  if (minor > amountMaxMinor) throw new MessageRefused('an amount is not possible');
  return Number(minor);
}

function railOf(transaction: MessagePart | null): PaymentRail | null {
  const instrument = transaction?.maybe('LclInstrm') ?? null;
  const text = instrument?.text('Prtry') ?? instrument?.text('Cd');
  return paymentRails.find((rail) => rail === text) ?? null;
}

function unknownDate(): never {
  throw new MessageRefused('an entry has no date');
}
