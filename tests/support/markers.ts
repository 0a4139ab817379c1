/**
 * Parties whose personal data can be found again wherever it goes. Each value is a marker: a run of letters or
 * digits that occurs nowhere else. So an escape, a separator or another field beside it does not hide it.
 */

/** What a value tells. `account` is a full number, which is never meant to be held in the clear. */
export type MarkerKind = 'name' | 'details' | 'account';

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
}

let numbersGiven = 0;

export function markedParty({ tag, entityType, ending = '4321' }: PartyOptions): MarkedParty {
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
      achRoutingNumber: marked('achRoutingNumber', 'account', routingNumber(numbersGiven)),
      achAccountNumber: marked('achAccountNumber', 'account', `${digits('7319', 13)}${ending}`),
    },
  };
  return { tag, fields, markers };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Not in the routing directory, with a valid checksum: weights 3, 7, 1. */
function routingNumber(n: number): string {
  const eight = `7317${String(n).padStart(4, '0')}`;
  const sum = [...eight].reduce(
    (total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 0),
    0,
  );
  return `${eight}${(10 - (sum % 10)) % 10}`;
}

/** Finds markers in a text, in the clear and in base64, base64url, hexadecimal and JSON or URL escapes. */
export function markersIn(text: string, markers: readonly Marker[]): readonly Marker[] {
  const plain = unescaped(text).toLowerCase();
  const encoded = text.replaceAll('-', '+').replaceAll('_', '/');
  return markers.filter((marker) => {
    const forms = formsOf(marker);
    return (
      plain.includes(marker.text) ||
      plain.includes(forms.hex) ||
      forms.base64.some((form) => encoded.includes(form))
    );
  });
}

/** A serializer may escape any character, also those that need no escape. */
function unescaped(text: string): string {
  return text.replaceAll(
    /\\+u00([2-7][0-9a-f])|%([2-7][0-9a-f])/gi,
    (_all, ofJson?: string, ofUrl?: string) =>
      String.fromCharCode(Number.parseInt(ofJson ?? ofUrl ?? '', 16)),
  );
}

interface Forms {
  readonly hex: string;
  readonly base64: readonly string[];
}

const knownForms = new Map<string, Forms>();

function formsOf({ text }: Marker): Forms {
  const known = knownForms.get(text);
  if (known !== undefined) return known;
  const forms = {
    hex: Buffer.from(text).toString('hex'),
    base64: [text, capital(text)].flatMap((written) =>
      [0, 1, 2].map((at) => base64At(written, at)),
    ),
  };
  knownForms.set(text, forms);
  return forms;
}

/** The characters that a text has in base64 when it begins `offset` bytes after a multiple of three. */
function base64At(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor((bytes.length * 8) / 6);
  return bytes.toString('base64').slice(first, end);
}
