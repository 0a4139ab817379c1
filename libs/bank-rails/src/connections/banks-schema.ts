/** The schema of PIS_BANKS_FILE. deploy/banks.example.yaml explains every field. */
import { type PaymentRail, paymentRails } from '@pis/domain';
import { z } from 'zod';
import { alwaysOpen, checkCutoffs, defaultCutoffs } from '../calendar/rail-hours.js';
import type { BankConnectionConfig, Banks, HttpsConfig, SftpConfig } from './bank-config.js';
import { hostKeyProblem } from './host-keys.js';

const text = (max: number) => z.string().trim().min(1).max(max);
const name = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/, 'must be 1 to 40 of a-z 0-9 and inner hyphens');
/** The keys of archived files are told apart from those of connections by this word (keyring: ownerOf.railFile). */
const reservedName = 'file';
const connectionName = name.refine(
  (given) => given !== reservedName,
  `${reservedName} is reserved: choose another name`,
);
const path = text(1_000);
const folder = z.string().regex(/^[\x21-\x7e]{1,500}$/, 'must be a path of printable ASCII');
const routingNumber = z.string().regex(/^\d{9}$/, 'must be 9 digits, in quotes');
const timeOfDay = z
  .string()
  .regex(/^(?:always|(?:[01]\d|2[0-3]):[0-5]\d)$/, 'must be HH:MM Eastern Time, in quotes');
const ascii = (max: number) =>
  z
    .string()
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${max}}$`), `must be 1 to ${max} of printable ASCII`);

const pollLeastSeconds = 0.1;
const secondsMax = 3_600;
const minutesMax = 24 * 60;
const yearMs = 365 * 24 * 3_600_000;
const milliseconds = (seconds: number) => Math.round(seconds * 1_000);

const secret = z
  .strictObject({
    file: path.optional(),
    variable: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]{0,99}$/, 'must be the name of an environment variable')
      .optional(),
  })
  .transform(({ file, variable }, context) => {
    if (file !== undefined && variable === undefined) return { file };
    if (variable !== undefined && file === undefined) return { variable };
    return refuse(context, 'must have either file or variable');
  });

const hostKey = z.string().superRefine((pin, context) => {
  const problem = hostKeyProblem(pin);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const sftp = z
  .strictObject({
    host: z.string().regex(/^[A-Za-z0-9.:-]{1,253}$/, 'must be a host name or an IP address'),
    port: z.int().min(1).max(65_535).default(22),
    username: ascii(200),
    hostKeys: z.array(hostKey).min(1).max(20),
    privateKey: secret.optional(),
    passphrase: secret.optional(),
    password: secret.optional(),
    outboundFolder: folder,
    inboundFolder: folder,
    pollSeconds: z.number().min(pollLeastSeconds).max(secondsMax).default(60),
    inboundSettleSeconds: z.number().min(0).max(secondsMax).default(10),
  })
  .transform((given, context): SftpConfig => {
    const { privateKey, passphrase, password, pollSeconds, inboundSettleSeconds, ...rest } = given;
    const common = {
      kind: 'sftp' as const,
      ...rest,
      pollMs: milliseconds(pollSeconds),
      inboundSettleMs: milliseconds(inboundSettleSeconds),
    };
    if (privateKey !== undefined && password === undefined)
      return { ...common, credentials: { privateKey, passphrase: passphrase ?? null } };
    if (password !== undefined && privateKey === undefined && passphrase === undefined)
      return { ...common, credentials: { password } };
    return refuse(context, 'must have either privateKey, with or without passphrase, or password');
  });

const https = z
  .strictObject({
    baseUrl: z.url({ protocol: /^https$/ }),
    caFile: path,
    certificateFile: path,
    privateKey: secret,
    pollSeconds: z.number().min(pollLeastSeconds).max(secondsMax).default(5),
  })
  .transform(
    ({ pollSeconds, ...rest }): HttpsConfig => ({
      kind: 'https',
      ...rest,
      pollMs: milliseconds(pollSeconds),
    }),
  );

const json = z
  .strictObject({ baseUrl: z.url({ protocol: /^https?$/ }) })
  .transform(({ baseUrl }) => ({ kind: 'json' as const, baseUrl }));

/** Of a batch header: company name and company identification. */
const company = z.strictObject({ name: ascii(16), id: ascii(10) });

const entriesPerFileMax = 100_000;
/** File control totals have 12 digits. */
const amountPerFileMaxMinor = 999_999_999_999;

const ach = z.strictObject({
  odfiRoutingNumber: routingNumber,
  immediateOrigin: ascii(10),
  immediateOriginName: ascii(23),
  immediateDestination: routingNumber,
  immediateDestinationName: ascii(23),
  company,
  companies: z.record(z.uuid(), company).default({}),
  consumerDebits: z.enum(['WEB', 'PPD']).default('WEB'),
  buildLeadMinutes: z.int().min(0).max(minutesMax).default(10),
  acknowledgementMinutes: z.int().min(1).max(minutesMax).default(60),
  inquiries: z.boolean().default(false),
  prenotes: z.boolean().default(false),
  limits: z
    .strictObject({
      entriesPerFileMax: z.int().min(1).max(entriesPerFileMax).default(10_000),
      amountPerFileMaxMinor: z
        .int()
        .min(1)
        .max(amountPerFileMaxMinor)
        .default(amountPerFileMaxMinor),
    })
    .prefault({}),
});

const iso20022 = z.strictObject({
  routingNumber,
  bic: z
    .string()
    .regex(
      /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/,
      'must be a BIC of 8 or 11 characters',
    )
    .nullable()
    .default(null),
  participantId: z
    .string()
    .regex(/^[A-Z0-9]{8,11}$/, 'must be 8 to 11 capital letters and digits')
    .nullable()
    .default(null),
});

const cutoffs = z
  .strictObject({
    sameDay: z
      .array(timeOfDay)
      .max(10)
      .default([...defaultCutoffs.sameDay]),
    standard: timeOfDay.default(defaultCutoffs.standard),
    fedwire: timeOfDay.default(defaultCutoffs.fedwire),
    swift: timeOfDay.default(defaultCutoffs.swift),
  })
  .transform((times, context) => {
    try {
      checkCutoffs(times);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
    return times;
  });

const connection = z.strictObject({
  name: connectionName,
  rails: z.array(z.enum(paymentRails)).min(1).max(paymentRails.length),
  sftp: sftp.optional(),
  https: https.optional(),
  json: json.optional(),
  terms: z.strictObject({
    submissionInFlightMaxMs: z.int().min(1).max(yearMs),
    referenceMemoryMs: z
      .int()
      .min(1)
      .max(10 * yearMs),
  }),
  cutoffs: cutoffs.prefault({}),
  ach: ach.nullable().default(null),
  iso20022: iso20022.nullable().default(null),
});
type GivenConnection = z.output<typeof connection>;

const bank = z.strictObject({ name, connections: z.array(connection).min(1).max(20) });

export function banksSchema({
  environment,
}: {
  readonly environment: 'sandbox' | 'production';
}): z.ZodType<Banks> {
  return z
    .strictObject({ banks: z.array(bank).min(1).max(20) })
    .transform(({ banks }, context): Banks => {
      const connections: BankConnectionConfig[] = [];
      const names = new Set<string>();
      const taken = new Map<PaymentRail, string>();
      banks.forEach((one, at) =>
        one.connections.forEach((given, index) => {
          const where = ['banks', at, 'connections', index];
          const tell = (field: readonly (string | number)[], message: string) =>
            context.addIssue({ code: 'custom', path: [...where, ...field], message });
          if (names.has(given.name)) tell(['name'], 'is the name of another connection');
          names.add(given.name);
          given.rails.forEach((rail, place) => {
            const other = taken.get(rail);
            if (other !== undefined) tell(['rails', place], `${rail} goes over ${other} already`);
            taken.set(rail, given.name);
          });
          if (
            environment === 'production' &&
            Object.values(given.cutoffs).flat().includes(alwaysOpen)
          )
            tell(['cutoffs'], `${alwaysOpen} is for the sandbox, and not for production`);
          const protocol = protocolOf(given, environment, tell);
          if (protocol === null) return;
          const {
            name: givenName,
            rails,
            terms,
            cutoffs: times,
            ach: achOf,
            iso20022: iso,
          } = given;
          connections.push({
            bank: one.name,
            ...{ name: givenName, rails, protocol, terms, cutoffs: times, ach: achOf, iso },
          });
        }),
      );
      return { connections };
    });
}

type Tell = (field: readonly (string | number)[], message: string) => void;

/** The protocol of a connection, which fits its rails and has what it needs. Null after a problem. */
function protocolOf(
  given: GivenConnection,
  environment: 'sandbox' | 'production',
  tell: Tell,
): BankConnectionConfig['protocol'] | null {
  const protocols = [given.sftp, given.https, given.json].filter((one) => one !== undefined);
  const [protocol] = protocols;
  if (protocol === undefined || protocols.length > 1) {
    tell([], 'must have exactly one of sftp, https, json');
    return null;
  }
  const hasAch = given.rails.includes('ACH');
  const others = given.rails.filter((rail) => rail !== 'ACH');
  switch (protocol.kind) {
    case 'json':
      if (environment === 'production') tell(['json'], 'is for tests, and not for production');
      return protocol;
    case 'sftp':
      if (others.length > 0) tell(['rails'], `${others.join(', ')}: only ACH goes over sftp`);
      if (given.ach === null) tell(['ach'], 'is required for ACH');
      return protocol;
    case 'https':
      if (hasAch) tell(['rails'], 'ACH goes over sftp, not over https');
      if (given.iso20022 === null) tell(['iso20022'], 'is required for these rails');
      else if (given.rails.includes('SWIFT') && given.iso20022.bic === null)
        tell(['iso20022', 'bic'], 'is required for SWIFT');
      return protocol;
  }
}

function refuse(context: z.core.$RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
