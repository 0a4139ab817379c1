/** isoBank over a small bank, for specs on one database. */
import type { Keyring } from '@pis/keyring';
import type pg from 'pg';
import { type BankConnection, simulatedBankTerms } from '../../../bank-connection.js';
import { fileArchive } from '../../../connections/file-archive.js';
import { isoBank, type IsoBankOptions } from '../iso-bank.js';
import type { IsoRail } from '../messages.js';
import { isoSender } from './sample-messages.js';
import type { SmallBank } from './small-bank.js';

export interface IsoWorld {
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly bank: SmallBank;
  /** Of the connection: rows and files belong to it. */
  readonly name: string;
  readonly rail: IsoRail;
}

/** Each call is as from another process: on the same database, with a memory of its own. */
export function isoConnection(
  { pool, keyring, bank, name, rail }: IsoWorld,
  changes: Partial<IsoBankOptions> = {},
): BankConnection {
  return isoBank({
    ...{ name, pool, transport: bank, rails: [rail], identity: isoSender, isTest: true },
    archive: fileArchive({ pool, keyring }),
    terms: simulatedBankTerms,
    keepNotification: () => Promise.reject(new Error('no answer of the bank contradicts another')),
    ...changes,
  });
}
