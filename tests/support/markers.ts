/**
 * Parties whose personal data can be found again wherever it goes. Each value is a marker: a run of letters or
 * digits that occurs nowhere else. So an escape, a separator or another field beside it does not hide it.
 */

/**
 * What a value tells. `account` is a full number or a SWIFT code, `visitor` an IP address or a user agent, `secret`
 * the token of a link or what a user signs in with: these are never meant to be held in the clear. `declared` is an account number in the scenarios file of the simulated bank.
 */
export type MarkerKind = 'name' | 'details' | 'account' | 'visitor' | 'secret' | 'declared';

export interface Marker {
  /** Of the party. */
  readonly tag: string;
  readonly field: string;
  readonly kind: MarkerKind;
  /** In lower case. */
  readonly text: string;
}

export interface MarkedParty {
  readonly tag: string;
  /** The fields of a create request, without originatorId. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly markers: readonly Marker[];
}

export interface PartyOptions {
  /** Lower-case letters, different for each party. */
  readonly tag: string;
  readonly entityType: 'INDIVIDUAL' | 'BUSINESS';
  /** The last four digits of the account number, which choose the sandbox's outcome. */
  readonly ending?: string;
  /** Whose routing number the account has. Default: `unlisted`, which takes ACH alone. */
  readonly bank?: MarkedBank;
}

/**
 * The bank of an account. A bank that is not in the routing directory has a number of its own, which is marked.
 * The account at a foreign bank has a SWIFT code, which is marked, too.
 */
export type MarkedBank = 'unlisted' | 'with RTP' | 'with FEDNOW' | 'foreign';

/** In the sandbox's directory. */
const listedBanks = { 'with RTP': '021000021', 'with FEDNOW': '101050001' } as const;

let numbersGiven = 0;

export function markedParty(options: PartyOptions): MarkedParty {
  const { tag, entityType, ending = '4321', bank = 'unlisted' } = options;
  numbersGiven += 1;
  const word = (field: string) => `zqx${tag}q${field}`;
  // None is a part of another one.
  const digits = (kind: string, length: number) =>
    `${kind}${String(numbersGiven).padStart(4, '0')}`.padEnd(length, '5');
  const markers: Marker[] = [];
  const marked = (field: string, kind: MarkerKind, text: string): string => {
    markers.push({ tag, field, kind, text });
    return text;
  };
  const named = (field: string) => ({
    [field]: capital(marked(field, 'name', word(field.toLowerCase()))),
  });
  const names =
    entityType === 'INDIVIDUAL'
      ? { ...named('firstName'), ...named('lastName') }
      : named('companyName');
  const detail = (field: string) => marked(field, 'details', word(field.toLowerCase()));
  const fields = {
    entityType,
    ...names,
    email: `${detail('email')}@example.com`,
    phoneNumber: `+44${marked('phoneNumber', 'details', digits('7318', 10))}`,
    legalAddress: {
      addressLine1: `1 ${detail('street')}`,
      city: detail('city'),
      // Free text outside of the US.
      state: detail('state'),
      postalCode: detail('zip'),
      countryCode: 'CA',
    },
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber:
        bank === 'with RTP' || bank === 'with FEDNOW'
          ? listedBanks[bank]
          : marked('achRoutingNumber', 'account', routingNumber(numbersGiven)),
      achAccountNumber: marked('achAccountNumber', 'account', `${digits('7319', 13)}${ending}`),
      // Also sent without a value: a change of the account replaces the whole account.
      swiftCode: bank === 'foreign' ? swiftCode(marked, numbersGiven) : null,
    },
  };
  return { tag, fields, markers };
}

/** The account number that the simulated bank sends as the correction of another one. */
export function markedCorrection(tag: string): Marker {
  numbersGiven += 1;
  const text = `7320${String(numbersGiven).padStart(4, '0')}`.padEnd(15, '5');
  return { tag, field: 'correctedAccountNumber', kind: 'declared', text };
}

/** Of a bank in Germany. */
function swiftCode(
  marked: (field: string, kind: MarkerKind, text: string) => string,
  n: number,
): string {
  const branch = n.toString(36).padStart(3, '0');
  return marked('swiftCode', 'account', `zqxbde2l${branch}`).toUpperCase();
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Not in the routing directory, with a valid checksum: weights 3, 7, 1. Its last digit is not 0: files have the first
 * eight digits in front of zeros.
 */
function routingNumber(n: number): string {
  const [whole] = [0, 1]
    .map((last) => withCheckDigit(`7317${String(n).padStart(3, '0')}${last}`))
    .filter((number) => !number.endsWith('0'));
  return whole ?? '';
}

function withCheckDigit(eight: string): string {
  const sum = [...eight].reduce(
    (total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 0),
    0,
  );
  return `${eight}${(10 - (sum % 10)) % 10}`;
}
