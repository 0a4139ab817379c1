import {
  contactCreateSchema,
  contactListSchema,
  contactPatchSchema,
  originatorCreateSchema,
  validatePatch,
} from './party-requests.js';
import { unsupportedCharacters, validate } from './validation.js';

const originatorId = '7d0c5b7e-3f5a-4c6e-9b0a-2f6f0c1d2e3f';
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
};
const legalAddress = {
  addressLine1: '1 Main Street',
  city: 'New York',
  state: 'NY',
  postalCode: '10001',
  countryCode: 'US',
};
const person = {
  originatorId,
  entityType: 'INDIVIDUAL',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
};

const problemsOf = (
  input: unknown,
  schema: Parameters<typeof validate>[0] = contactCreateSchema,
) => {
  const result = validate(schema, input);
  return result.ok ? [] : result.problems.map(({ field, issue }) => `${field}: ${issue}`);
};

describe('creating a contact', () => {
  it('needs only the required fields, and returns null for the rest', () => {
    expect(validate(contactCreateSchema, person)).toEqual({
      ok: true,
      value: {
        ...person,
        companyName: null,
        phoneNumber: null,
        legalAddress: null,
        bankAccount: null,
      },
    });
  });

  it('treats null as absent, trims, and normalizes IDs and codes', () => {
    const result = validate(contactCreateSchema, {
      ...person,
      originatorId: originatorId.toUpperCase(),
      firstName: '  Ada ',
      companyName: null,
      phoneNumber: ' +12125550123',
      legalAddress: { ...legalAddress, state: 'ny', countryCode: 'us' },
      bankAccount: { ...bankAccount, swiftCode: 'chasus33' },
      unknown: { anything: true },
    });
    expect(result).toEqual({
      ok: true,
      value: {
        ...person,
        companyName: null,
        phoneNumber: '+12125550123',
        legalAddress,
        bankAccount: { ...bankAccount, swiftCode: 'CHASUS33' },
      },
    });
  });

  it('names every missing field at once', () => {
    expect(problemsOf({})).toEqual([
      'originatorId: validation_required',
      'entityType: validation_required',
      'email: validation_required',
    ]);
    expect(problemsOf({ entityType: 'INDIVIDUAL', email: null })).toEqual([
      'originatorId: validation_required',
      'email: validation_required',
      'firstName: validation_required',
      'lastName: validation_required',
    ]);
    expect(problemsOf({ ...person, entityType: 'BUSINESS' })).toEqual([
      'companyName: validation_required',
    ]);
  });

  it('keeps the contact person of a business and drops the company of a person', () => {
    const business = { ...person, entityType: 'BUSINESS', companyName: 'Analytical Engines' };
    expect(validate(contactCreateSchema, business)).toMatchObject({ value: business });
    const personWithCompany = { ...person, companyName: 'Analytical Engines' };
    expect(validate(contactCreateSchema, personWithCompany)).toMatchObject({
      value: { companyName: null },
    });
  });

  it('reports all problems of nested objects together, with dotted fields', () => {
    expect(
      problemsOf({
        ...person,
        originatorId: 'x',
        email: 'nobody',
        phoneNumber: '12125550123',
        legalAddress: { ...legalAddress, city: '', state: 'New York', postalCode: '1' },
        bankAccount: { subType: 'GIRO', achRoutingNumber: '021000022', achAccountNumber: '123' },
      }),
    ).toEqual([
      'originatorId: validation_uuid',
      'email: validation_email',
      'phoneNumber: validation_phone_number',
      'legalAddress.city: validation_min_length',
      'legalAddress.state: validation_state',
      'legalAddress.postalCode: validation_postal_code',
      'bankAccount.subType: validation_enum',
      'bankAccount.achRoutingNumber: validation_routing_number',
      'bankAccount.achAccountNumber: validation_account_number',
    ]);
  });

  it('asks for US states and ZIP codes in the US alone', () => {
    const abroad = { ...legalAddress, state: 'Bayern', postalCode: '80331', countryCode: 'DE' };
    expect(problemsOf({ ...person, legalAddress: abroad })).toEqual([]);
    const canada = { ...abroad, state: 'ON', postalCode: 'K1A 0B1', countryCode: 'CA' };
    expect(problemsOf({ ...person, legalAddress: canada })).toEqual([]);
    expect(problemsOf({ ...person, legalAddress: { ...abroad, countryCode: 'US' } })).toEqual([
      'legalAddress.state: validation_state',
    ]);
  });

  it('does not accept a letter that becomes two in upper case', () => {
    for (const countryCode of ['\u00df', '\ufb00', '\u0131t'])
      expect(problemsOf({ ...person, legalAddress: { ...legalAddress, countryCode } })).toEqual([
        'legalAddress.countryCode: validation_country_code',
      ]);
  });

  it('requires all fields of a legal address or none', () => {
    expect(problemsOf({ ...person, legalAddress: { countryCode: 'US' } })).toEqual([
      'legalAddress.addressLine1: validation_required',
      'legalAddress.city: validation_required',
      'legalAddress.state: validation_required',
      'legalAddress.postalCode: validation_required',
    ]);
  });

  it.each([
    ['firstName', 'x'.repeat(101), 'validation_max_length'],
    ['firstName', '   ', 'validation_min_length'],
    ['firstName', 7, 'validation_type'],
    ['firstName', 'nul\0', unsupportedCharacters],
    ['firstName', 'half\ud83d', unsupportedCharacters],
    ['email', `${'x'.repeat(250)}@example.com`, 'validation_max_length'],
    ['email', ['ada@example.com'], 'validation_type'],
    ['phoneNumber', '+0123456789', 'validation_phone_number'],
    ['phoneNumber', '+1212555012345678', 'validation_phone_number'],
    ['bankAccount', 'DE89370400440532013000', 'validation_type'],
    ['entityType', 'PERSON', 'validation_enum'],
    ['entityType', 1, 'validation_type'],
    ['originatorId', 5, 'validation_type'],
  ])('refuses %s = %j with %s', (field, value, issue) => {
    expect(problemsOf({ ...person, [field]: value })).toEqual([`${field}: ${issue}`]);
  });

  it.each([
    'o’b',
    'a@b',
    '.a@example.com',
    'a..b@example.com',
    'a b@example.com',
    'a@-b.com',
    'a@1',
  ])('refuses the e-mail address %s', (email) => {
    expect(problemsOf({ ...person, email })).toEqual(['email: validation_email']);
  });

  it.each(["o'brien+tag&co=1@mail.example.co", 'A_b/c@EXAMPLE.com', 'x@xn--bcher-kva.example'])(
    'accepts the e-mail address %s',
    (email) => {
      expect(problemsOf({ ...person, email })).toEqual([]);
    },
  );

  it.each([
    ['achAccountNumber', '12345678901234567x', 'validation_account_number'],
    ['achAccountNumber', '123456789012345678', 'validation_account_number'],
    ['achAccountNumber', '********6789', 'validation_account_number'],
    ['achRoutingNumber', '000000000', 'validation_routing_number'],
    ['achRoutingNumber', '02100002', 'validation_routing_number'],
    ['swiftCode', 'CHASUS3', 'validation_swift_code'],
    ['swiftCode', 'CHASUS33XX', 'validation_swift_code'],
    ['swiftCode', 'CHAS\u00df33', 'validation_swift_code'],
  ])('refuses a bank account with %s = %s', (field, value, issue) => {
    const account = { ...bankAccount, [field]: value };
    expect(problemsOf({ ...person, bankAccount: account })).toEqual([
      `bankAccount.${field}: ${issue}`,
    ]);
  });

  it('counts characters as people do', () => {
    expect(problemsOf({ ...person, firstName: '😀'.repeat(100) })).toEqual([]);
    expect(problemsOf({ ...person, firstName: '😀'.repeat(101) })).toHaveLength(1);
  });

  it.each([[null], [[]], ['text'], [7]])('refuses the body %j', (body) => {
    expect(problemsOf(body)).toHaveLength(1);
  });

  it('has the same rules as an originator, which also needs a bank account', () => {
    expect(problemsOf({ ...person, originatorId: undefined }, originatorCreateSchema)).toEqual([
      'bankAccount: validation_required',
    ]);
  });
});

describe('patching a contact', () => {
  it('accepts an empty patch, and returns only the supplied fields', () => {
    expect(validatePatch(contactPatchSchema, {}, 'INDIVIDUAL')).toEqual({ ok: true, value: {} });
    const patch = { phoneNumber: null, legalAddress: null, bankAccount: null, companyName: null };
    expect(validatePatch(contactPatchSchema, patch, 'INDIVIDUAL')).toEqual({
      ok: true,
      value: patch,
    });
  });

  it('does not clear a required field, and reports that with all other problems', () => {
    const result = validatePatch(
      contactPatchSchema,
      { firstName: null, companyName: null, email: null, phoneNumber: '1' },
      'INDIVIDUAL',
    );
    expect(result).toMatchObject({
      problems: [
        { field: 'email', issue: 'validation_required' },
        { field: 'phoneNumber', issue: 'validation_phone_number' },
        { field: 'firstName', issue: 'validation_required' },
      ],
    });
    expect(validatePatch(contactPatchSchema, { firstName: null }, 'BUSINESS').ok).toBe(true);
    expect(validatePatch(contactPatchSchema, { companyName: null }, 'BUSINESS').ok).toBe(false);
  });
});

describe('listing contacts', () => {
  it('accepts a request without parameters, and checks the given ones', () => {
    expect(validate(contactListSchema, {})).toEqual({ ok: true, value: {} });
    expect(problemsOf({ limit: '101', originatorId: ['a', 'b'] }, contactListSchema)).toEqual([
      'limit: validation_max',
      'originatorId: validation_type',
    ]);
  });
});
