/**
 * Bank accounts at rest: the masked numbers that may be shown, and the full ones sealed. Once a number is
 * accepted, only this file and the rail's last step see it in full.
 *
 * Structural types on purpose: keyring imports nothing of ours. The result fits domain's BankAccount.
 */
import { maskNumber } from './masking.js';
import type { Owner } from './owner.js';
import type { Keyring, Sealed } from './port.js';

/** The full numbers: what `sealed` holds as JSON. */
export interface BankAccountNumbers {
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
  readonly swiftCode: string | null;
}

export interface BankAccountInput<SubType extends string> extends BankAccountNumbers {
  readonly subType: SubType;
}

export interface BankAccountAtRest<SubType extends string> {
  readonly bankName: string | null;
  readonly subType: SubType;
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
  readonly swiftCode: string | null;
  readonly sealed: Sealed;
}

/** The same owner is needed to open it. @throws KeyDestroyed, StoreUnavailable */
export async function sealBankAccount<SubType extends string>(
  keyring: Keyring,
  owner: Owner,
  input: BankAccountInput<SubType>,
  bankName: string | null,
): Promise<BankAccountAtRest<SubType>> {
  const { achRoutingNumber, achAccountNumber, swiftCode } = input;
  const numbers: BankAccountNumbers = { achRoutingNumber, achAccountNumber, swiftCode };
  return {
    bankName,
    subType: input.subType,
    achRoutingNumber: maskNumber(achRoutingNumber),
    achAccountNumber: maskNumber(achAccountNumber),
    swiftCode: swiftCode === null ? null : maskNumber(swiftCode),
    sealed: await keyring.seal(owner, JSON.stringify(numbers)),
  };
}

/** The full numbers of an account at rest. @throws CannotOpen, KeyDestroyed, StoreUnavailable */
export async function openBankAccount(
  keyring: Keyring,
  account: { readonly sealed: Sealed },
  owner: Owner,
): Promise<BankAccountNumbers> {
  return JSON.parse(await keyring.open(account.sealed, owner)) as BankAccountNumbers;
}

/** Where an account at rest is, without its number. @throws CannotOpen, KeyDestroyed, StoreUnavailable */
export async function openBankCodes(
  keyring: Keyring,
  account: { readonly sealed: Sealed },
  owner: Owner,
): Promise<Omit<BankAccountNumbers, 'achAccountNumber'>> {
  const { achRoutingNumber, swiftCode } = await openBankAccount(keyring, account, owner);
  return { achRoutingNumber, swiftCode };
}

/**
 * A keyed hash that is equal for equal accounts (type and all numbers), so that accounts can be
 * compared where the numbers themselves must not be. It does not depend on the owner.
 */
export function fingerprintOf(keyring: Keyring, input: BankAccountInput<string>): string {
  const { subType, achRoutingNumber, achAccountNumber, swiftCode } = input;
  const whole = [subType, achRoutingNumber, achAccountNumber, swiftCode];
  return keyring.mac('bank-account', JSON.stringify(whole));
}

/** The fingerprint of an account at rest. @throws CannotOpen, KeyDestroyed, StoreUnavailable */
export async function fingerprintAtRest(
  keyring: Keyring,
  account: { readonly subType: string; readonly sealed: Sealed },
  owner: Owner,
): Promise<string> {
  const numbers = await openBankAccount(keyring, account, owner);
  return fingerprintOf(keyring, { ...numbers, subType: account.subType });
}
