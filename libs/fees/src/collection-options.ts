/** What the collection of fees works with. */
import type { RoutingDirectory } from '@pis/bank-rails';
import type { Environment } from '@pis/domain';
import type { CommandContext, EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import type { FeeSources } from '@pis/read-models';

export interface CollectionOptions {
  readonly store: EventStore;
  readonly sources: FeeSources;
  readonly keyring: Keyring;
  readonly banks: RoutingDirectory;
  readonly environment: Environment;
  readonly by: CommandContext;
  readonly now: () => Date;
  /** Told once of each period whose fees were not collected. No personal data. */
  readonly onGivenUp: (facts: Readonly<Record<string, unknown>>) => void;
  /** Told once of each collection that the bank has settled beside another one of its period. No personal data. */
  readonly onDebitedTwice: (facts: Readonly<Record<string, unknown>>) => void;
}
