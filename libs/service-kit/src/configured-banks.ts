/** What an app that makes payments takes from PIS_BANKS_FILE: which rails a bank takes, and where no webhook may go. */
import { defaultCutoffs, type RailPolicy } from '@pis/bank-rails';
import type { BankHost } from '@pis/bank-rails/banks';
import { paymentRails } from '@pis/domain';
import { ConfigurationError } from './config.js';
import type { GatewayConfig, ProcessConfig } from './environment.js';

export interface ConfiguredBanks {
  readonly rails: Omit<RailPolicy, 'settings'>;
  readonly hosts: readonly BankHost[];
}

/**
 * Every rail with its own cutoffs when no banks are configured: the simulated bank takes them all.
 * @throws ConfigurationError with every mistake in the file
 */
export async function configuredBanks({
  PIS_BANKS_FILE: file,
  PIS_ENVIRONMENT: environment,
}: Pick<GatewayConfig, 'PIS_BANKS_FILE'> &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>): Promise<ConfiguredBanks> {
  if (file === undefined)
    return { rails: { connectedRails: paymentRails, cutoffs: defaultCutoffs }, hosts: [] };
  // YAML is loaded only by an app that needs it.
  const { bankHosts, BanksFileInvalid, offeredRails, readBanksFile } = await import(
    '@pis/bank-rails/banks'
  );
  try {
    const banks = await readBanksFile(file, { environment });
    return { rails: offeredRails(banks), hosts: bankHosts(banks) };
  } catch (error) {
    if (!(error instanceof BanksFileInvalid)) throw error;
    throw new ConfigurationError(error.problems.map((one) => `PIS_BANKS_FILE: ${one}`));
  }
}
