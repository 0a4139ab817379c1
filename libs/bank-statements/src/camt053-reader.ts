/**
 * Reads camt.053 as a stream, versions 001.02 to 001.99: what is read here has not changed between them. The document
 * may stand in an envelope. Structure and amounts must be right; where balances and summaries differ from the entries,
 * the reader says so and goes on.
 */
import { MessagePart, MessageRefused, type XmlElement } from '@pis/bank-rails/xml';
import { Camt053Entries } from './camt053-entries.js';
import { type Balance, balanceOf, dateOf, type Statement, totalsIn } from './camt053-statement.js';
import { CountedEntries } from './statement.js';
import { compared, identifierOf, type StatementPart, StatementRefused } from './statement-parts.js';
import { xmlElements, type XmlPiece } from './xml-elements.js';

const namespacePattern = /^urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(?!01)\d\d$/;
/** Below Document. */
const enteredNames = ['BkToCstmrStmt', 'Stmt'];

/** The root, the document, and in it what holds the entries. */
function enters(path: readonly string[]): boolean {
  const at = path.indexOf('Document');
  if (at < 0) return path.length === 1;
  return at <= 1 && path.slice(at + 1).every((name, index) => name === enteredNames[index]);
}

/** @throws StatementRefused */
export async function* readCamt053(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<StatementPart> {
  const reader = new Camt053Reader();
  for await (const piece of xmlElements(chunks, enters)) yield* reader.read(piece);
  reader.end();
}

class Camt053Reader {
  private namespace: string | null = null;
  private hasHeader = false;
  private statement: Statement | null = null;
  private statements = 0;
  private line = 1;

  *read(piece: XmlPiece): Generator<StatementPart> {
    this.line = piece.line;
    try {
      switch (piece.kind) {
        case 'enter':
          this.enter(piece.name, piece.namespace);
          return;
        case 'leave':
          if (piece.name === 'Stmt') yield* this.endStatement();
          return;
        case 'element':
          yield* this.element(piece.element);
          return;
      }
    } catch (error) {
      if (error instanceof MessageRefused) throw this.refused(error.message);
      throw error;
    }
  }

  end(): void {
    if (this.statements === 0) throw this.refused('the file has no statement');
  }

  private enter(name: string, namespace: string): void {
    if (name === 'Document') {
      if (this.namespace !== null) throw this.refused('the file has more than one document');
      if (!namespacePattern.test(namespace)) throw this.refused('the document is no camt.053');
      this.namespace = namespace;
    } else if (this.namespace !== null && namespace !== this.namespace)
      throw this.refused('an element of another namespace is not expected');
    if (name !== 'Stmt') return;
    if (!this.hasHeader) throw this.refused('the group header is missing');
    this.statements += 1;
    this.statement = {
      ...{ line: this.line, id: null, from: null, to: null, account: null },
      ...{ opening: null, closing: null, stated: null, isGiven: false },
      ...{ booked: new CountedEntries(), all: new CountedEntries() },
    };
  }

  private *element(element: XmlElement): Generator<StatementPart> {
    // Of an envelope.
    if (this.namespace === null) return;
    checkNamespaces(element, this.namespace);
    const part = new MessagePart(element);
    if (this.statement !== null) yield* this.inStatement(this.statement, part);
    else if (element.name === 'GrpHdr') yield this.header(part);
    else if (element.name !== 'SplmtryData') throw this.refused(`${element.name} is not expected`);
  }

  private header(header: MessagePart): StatementPart {
    if (this.hasHeader) throw this.refused('there is more than one group header');
    this.hasHeader = true;
    const made = Date.parse(header.text('CreDtTm') ?? '');
    const file = {
      format: 'camt.053',
      fileId: identifierOf(header.text('MsgId')) ?? '',
      createdAt: Number.isNaN(made) ? null : new Date(made),
      sender: null,
      receiver: identifierOf(header.maybe('MsgRcpt')?.text('Nm')),
    } as const;
    return { kind: 'file', line: this.line, file };
  }

  private *inStatement(statement: Statement, part: MessagePart): Generator<StatementPart> {
    const { name } = part.element;
    if (name === 'Ntry') {
      yield* this.account(statement);
      yield* new Camt053Entries(statement, part, this.line).parts();
      return;
    }
    if (statement.isGiven && name !== 'AddtlStmtInf')
      throw this.refused(`${name} is not expected behind an entry`);
    switch (name) {
      case 'Id':
        statement.id = identifierOf(part.element.text);
        return;
      case 'FrToDt':
        statement.from = dateOf(part.text('FrDtTm') ?? part.text('FrDt'));
        statement.to = dateOf(part.text('ToDtTm') ?? part.text('ToDt'));
        return;
      case 'Acct':
        statement.account = part;
        return;
      case 'Bal':
        return keepBalance(statement, balanceOf(part));
      case 'TxsSummry':
        statement.stated = totalsIn(part);
        return;
    }
  }

  private *account(statement: Statement): Generator<StatementPart> {
    if (statement.isGiven) return;
    statement.isGiven = true;
    const { account, opening, from, to } = statement;
    const id = account?.maybe('Id');
    const accountId = identifierOf(id?.text('IBAN') ?? id?.maybe('Othr')?.text('Id'));
    if (account === null || accountId === null) throw this.refused('the account has no number');
    statement.currencyCode = account.text('Ccy') ?? 'USD';
    yield {
      kind: 'account',
      line: statement.line,
      account: {
        ...{ accountId, accountName: account.text('Nm'), statementId: statement.id, from, to },
        openingMinor: opening?.minor ?? null,
      },
    };
  }

  private *endStatement(): Generator<StatementPart> {
    const { statement, line } = this;
    if (statement === null) return;
    yield* this.account(statement);
    this.statement = null;
    const { opening, closing, stated, booked, all } = statement;
    const { credits, debits } = booked.totals;
    if (opening !== null && closing !== null)
      yield* compared(
        line,
        'closing balance',
        closing.minor,
        opening.minor + credits.sumMinor - debits.sumMinor,
      );
    for (const side of ['credits', 'debits'] as const) {
      const said = stated?.[side] ?? null;
      if (said === null) continue;
      // Some banks count entries that are not booked.
      const found = [booked.totals[side], all.totals[side]] as const;
      const [first, second] = found;
      const nearest = said.count === second.count && said.count !== first.count ? second : first;
      yield* compared(line, `number of ${side}`, said.count, nearest.count);
      yield* compared(line, `sum of ${side}`, said.sumMinor, nearest.sumMinor);
    }
  }

  private refused(reason: string): StatementRefused {
    return new StatementRefused(this.line, reason);
  }
}

function keepBalance(statement: Statement, balance: Balance): void {
  if (balance.code === 'OPBD' || (balance.code === 'PRCD' && statement.opening === null))
    statement.opening = balance;
  else if (balance.code === 'CLBD') statement.closing = balance;
}

/** Supplementary data has its own namespaces, and is not read. */
function checkNamespaces({ name, namespace, children }: XmlElement, expected: string): void {
  if (namespace !== expected)
    throw new MessageRefused('an element of another namespace is not expected');
  if (name === 'SplmtryData') return;
  for (const child of children) checkNamespaces(child, expected);
}
