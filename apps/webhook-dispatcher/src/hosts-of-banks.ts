/** Where the banks are reached: no webhook goes there. */
import type { BankHost } from '@pis/bank-rails/banks';
import { ConfigurationError, type ProcessConfig, type WebhooksConfig } from '@pis/service-kit';

export type BanksConfig = Partial<
  Pick<WebhooksConfig, 'PIS_BANKS_FILE'> & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>
>;

/** None without a file. @throws ConfigurationError with every mistake in the file */
export async function hostsOfBanks({
  PIS_BANKS_FILE: file,
  PIS_ENVIRONMENT: environment = 'production',
}: BanksConfig): Promise<readonly BankHost[]> {
  if (file === undefined) return [];
  // YAML is loaded only by a dispatcher that needs it.
  const { bankHosts, BanksFileInvalid, readBanksFile } = await import('@pis/bank-rails/banks');
  try {
    return bankHosts(await readBanksFile(file, { environment }));
  } catch (error) {
    if (!(error instanceof BanksFileInvalid)) throw error;
    throw new ConfigurationError(error.problems.map((one) => `PIS_BANKS_FILE: ${one}`));
  }
}
