/**
 * The bank accounts of contacts and originators: sealing them, comparing them, and turning a validated PATCH
 * into the changes of a record. A bank account that is the same as before is no change: sealing it anew would
 * make every retry of a PATCH a new event.
 */
import type { RoutingDirectory } from '@pis/bank-rails';
import type { BankAccountRequest, ContactPatchRequest } from '@pis/contracts';
import type { BankAccount, EntityType, PartyChanges } from '@pis/domain';
import {
  fingerprintAtRest,
  fingerprintOf,
  type Keyring,
  type Owner,
  sealBankAccount,
} from '@pis/keyring';

export interface PartyAtRest {
  readonly entityType: EntityType;
  readonly bankAccount: BankAccount | null;
}

export class PartyAccounts {
  constructor(
    private readonly keyring: Keyring,
    private readonly banks: RoutingDirectory,
  ) {}

  /** The bank's name is that of the routing directory, or null. */
  async seal(owner: Owner, input: BankAccountRequest): Promise<BankAccount> {
    const bank = await this.banks.find(input.achRoutingNumber);
    return sealBankAccount(this.keyring, owner, input, bank?.bankName ?? null);
  }

  /** Equal for equal accounts; null without one. */
  fingerprintOf(input: BankAccountRequest | null): string | null {
    return input && fingerprintOf(this.keyring, input);
  }

  async fingerprintAtRest(account: BankAccount | null, owner: Owner): Promise<string | null> {
    return account && fingerprintAtRest(this.keyring, account, owner);
  }

  async changes(
    current: PartyAtRest,
    owner: Owner,
    patch: ContactPatchRequest,
  ): Promise<PartyChanges> {
    const { firstName, lastName, companyName, email, phoneNumber, legalAddress } = patch;
    // A person has no company name, whatever is sent (as on create).
    const takesCompany = companyName !== undefined && current.entityType === 'BUSINESS';
    const bankAccount = await this.accountChange(current, owner, patch.bankAccount);
    return {
      ...(firstName === undefined ? {} : { firstName }),
      ...(lastName === undefined ? {} : { lastName }),
      ...(takesCompany ? { companyName } : {}),
      ...(email === undefined ? {} : { email }),
      ...(phoneNumber === undefined ? {} : { phoneNumber }),
      ...(legalAddress === undefined ? {} : { legalAddress }),
      ...(bankAccount === undefined ? {} : { bankAccount }),
    };
  }

  /** Undefined when it stays as it is. */
  private async accountChange(
    { bankAccount: current }: PartyAtRest,
    owner: Owner,
    input: BankAccountRequest | null | undefined,
  ): Promise<BankAccount | null | undefined> {
    if (input === undefined || input === null) return input;
    const same = this.fingerprintOf(input) === (await this.fingerprintAtRest(current, owner));
    return same ? undefined : this.seal(owner, input);
  }
}
