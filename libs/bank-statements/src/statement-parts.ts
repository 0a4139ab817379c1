/** What the readers of statement files give, in the order of the file. */
import type { BankEntry } from './statement.js';

/** The file is not what it should be. `line` counts from 1. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused';
  constructor(
    readonly line: number,
    readonly reason: string,
  ) {
    super(`line ${line}: ${reason}`);
  }
}

/** The file as its bank describes it. Null where it says nothing. */
export interface ReadFile {
  readonly format: 'camt.053' | 'BAI2';
  readonly fileId: string;
  /** BAI2 has no seconds and no time zone: it is read as UTC. */
  readonly createdAt: Date | null;
  readonly sender: string | null;
  readonly receiver: string | null;
}

export interface ReadAccount {
  readonly accountId: string;
  readonly accountName: string | null;
  readonly statementId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly openingMinor: bigint | null;
}

/** The file says one thing in two places, and they differ. It may have been cut or altered. */
export interface Contradiction {
  readonly what: string;
  readonly stated: string;
  readonly found: string;
}

export type StatementPart =
  | { readonly kind: 'file'; readonly line: number; readonly file: ReadFile }
  | { readonly kind: 'account'; readonly line: number; readonly account: ReadAccount }
  | { readonly kind: 'entry'; readonly line: number; readonly entry: BankEntry }
  /** An entry in another currency, which cannot be ours. */
  | { readonly kind: 'foreign'; readonly line: number; readonly currencyCode: string }
  | ({ readonly kind: 'contradiction'; readonly line: number } & Contradiction);

/** A contradiction, if there is one. */
export function* compared(
  line: number,
  what: string,
  stated: bigint | number | null,
  found: bigint | number,
): Generator<StatementPart> {
  if (stated !== null && BigInt(stated) !== BigInt(found))
    yield { kind: 'contradiction', line, what, stated: String(stated), found: String(found) };
}

/** Longer identifiers than any format has are cut. */
const identifierMax = 140;

/**
 * Null for an empty text, and for ISO 20022's word for one. Characters that control a terminal or cannot be seen are
 * replaced: identifiers are shown to operators.
 */
export function identifierOf(text: string | null | undefined): string | null {
  const trimmed = (text ?? '').trim().slice(0, identifierMax).replaceAll(/\p{C}/gu, '?');
  return trimmed === '' || trimmed === 'NOTPROVIDED' ? null : trimmed;
}
