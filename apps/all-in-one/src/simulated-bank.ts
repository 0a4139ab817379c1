/**
 * The simulated bank in this process. Its formats are those of real banks: NACHA files and ISO 20022 messages
 * pass between it and the executor. Only the way to the bank is shorter.
 */
import type { FactoryProvider } from '@nestjs/common';
import { directBankConnection, firstConnectionName, type NamedConnection } from '@pis/bank-rails';
import {
  AchDesk,
  BankSimulator,
  inProcessFiles,
  inProcessMessages,
  MessageDesk,
  sandboxConnections,
} from '@pis/bank-simulator/module';
import { type BankResources, bankOver, BANKS } from '@pis/rail-executor/module';
import { KEYRING, LOGGER, PG_POOL, type ProcessConfig, type RailsConfig } from '@pis/service-kit';

/** Whether the simulated bank runs in this process: unless a variable names a bank, and never in production. */
export function simulatesBank(
  config: Pick<RailsConfig, 'PIS_BANKS_FILE' | 'PIS_BANK_URL'> &
    Pick<ProcessConfig, 'PIS_ENVIRONMENT'>,
): boolean {
  return (
    config.PIS_BANKS_FILE === undefined &&
    config.PIS_BANK_URL === undefined &&
    config.PIS_ENVIRONMENT !== 'production'
  );
}

/** Needs BankSimulatorModule. */
export const simulatedBanks: FactoryProvider<readonly NamedConnection[]> = {
  provide: BANKS,
  useFactory: (
    simulator: BankSimulator,
    ach: AchDesk,
    messages: MessageDesk,
    pool: BankResources['pool'],
    keyring: BankResources['keyring'],
    logger: BankResources['logger'],
  ) => {
    const resources = { environment: 'sandbox', pool, keyring, logger } as const;
    return [
      bankOver(sandboxConnections.files, { files: inProcessFiles(ach) }, resources),
      bankOver(sandboxConnections.messages, { messages: inProcessMessages(messages) }, resources),
      formerConnection(simulator),
    ];
  },
  inject: [BankSimulator, AchDesk, MessageDesk, PG_POOL, KEYRING, LOGGER],
};

/**
 * Older releases called the simulated bank directly. The payments that they claimed end over that connection. It
 * takes no rail, so no new payment goes over it.
 */
function formerConnection(simulator: BankSimulator): NamedConnection {
  return { name: firstConnectionName, rails: [], connection: directBankConnection(simulator) };
}
