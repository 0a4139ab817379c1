/**
 * The bank accounts of contacts and originators: sealing them, comparing them, and turning a validated PATCH
 * into the changes of a record. A bank account that is the same as before is no change: sealing it anew would
 * make every retry of a PATCH a new event.
 */
import { bankNameOf } from '@pis/bank-rails';
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
  readonly dataKey: string;
}

export class PartyAccounts {
  constructor(private readonly keyring: Keyring) {}

  createDataKey(): string {
    return this.keyring.createDataKey();
  }

  seal(dataKey: string, owner: Owner, input: BankAccountRequest): BankAccount {
    const bankName = bankNameOf(input.achRoutingNumber);
    return sealBankAccount(this.keyring, dataKey, owner, input, bankName);
  }

  /** Equal for equal accounts; null without one. */
  fingerprintOf(input: BankAccountRequest | null): string | null {
    return input && fingerprintOf(this.keyring, input);
  }

  fingerprintAtRest(account: BankAccount | null, owner: Owner): string | null {
    return account && fingerprintAtRest(this.keyring, account, owner);
  }

  changes(current: PartyAtRest, owner: Owner, patch: ContactPatchRequest): PartyChanges {
    const { firstName, lastName, companyName, email, phoneNumber, legalAddress } = patch;
    // A person has no company name, whatever is sent (as on create).
    const takesCompany = companyName !== undefined && current.entityType === 'BUSINESS';
    const bankAccount = this.accountChange(current, owner, patch.bankAccount);
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
  private accountChange(
    { bankAccount: current, dataKey }: PartyAtRest,
    owner: Owner,
    input: BankAccountRequest | null | undefined,
  ): BankAccount | null | undefined {
    if (input === undefined || input === null) return input;
    const same = this.fingerprintOf(input) === this.fingerprintAtRest(current, owner);
    return same ? undefined : this.seal(dataKey, owner, input);
  }
}
