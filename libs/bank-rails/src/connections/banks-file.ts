/**
 * PIS_BANKS_FILE: the banks, their rails and how they are reached. It holds no secret: each is named by a
 * file or an environment variable, and is read when its connection is opened (open-transports.ts). So a
 * process that only has to know the rails needs no secret. deploy/banks.example.yaml explains every field.
 */
import { readFile } from 'node:fs/promises';
import { type PaymentRail, paymentRails } from '@pis/domain';
import { checkedYaml } from '../checked-yaml.js';
import type { Banks } from './bank-config.js';
import { banksSchema } from './banks-schema.js';

/** The operator must change the file. Each problem names its line and field, and shows no value. */
export class BanksFileInvalid extends Error {
  override readonly name = 'BanksFileInvalid';
  constructor(
    path: string,
    readonly problems: readonly string[],
  ) {
    super(`${path}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

export interface BanksFileOptions {
  readonly environment: 'sandbox' | 'production';
}

/** @throws BanksFileInvalid, with every problem at once */
export async function readBanksFile(path: string, options: BanksFileOptions): Promise<Banks> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new BanksFileInvalid(path, [`cannot be read: ${error.message}`]);
  });
  const checked = checkedYaml(text, banksSchema(options));
  if ('problems' in checked) throw new BanksFileInvalid(path, checked.problems);
  return checked.value;
}

/** The rails that a bank takes, in the order of `paymentRails`. Others must not be chosen. */
export function railsOf(banks: Banks): readonly PaymentRail[] {
  return paymentRails.filter((rail) =>
    banks.connections.some((connection) => connection.rails.includes(rail)),
  );
}

export function railsWithoutBank(banks: Banks): readonly PaymentRail[] {
  const taken = railsOf(banks);
  return paymentRails.filter((rail) => !taken.includes(rail));
}
