/**
 * Configuration: read only from the environment and validated completely at boot. One error names every
 * bad variable. Nothing reads process.env later.
 */
import { z } from 'zod';
import { masterKeyVariables } from './environment.js';

/** The operator must change the environment. Each problem is `VARIABLE: what is wrong`. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  constructor(readonly problems: readonly string[]) {
    super(`bad configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Rules between variables. Only the variables that an app declares are checked. */
const crossRules: readonly {
  readonly variable: string;
  readonly requires: string;
  readonly when: (config: Readonly<Record<string, unknown>>) => boolean;
}[] = [
  {
    variable: 'EVENTSTOREDB_URL',
    requires: 'required when PIS_EVENT_STORE is eventstoredb',
    when: (c) => c['PIS_EVENT_STORE'] === 'eventstoredb',
  },
  {
    variable: 'DATABASE_URL',
    requires: 'required when DATABASE_DIRECT_URL is set',
    when: (c) => c['DATABASE_DIRECT_URL'] !== undefined,
  },
  {
    variable: 'KAFKA_BROKERS',
    requires: 'required when PIS_BROKER is kafka',
    when: (c) => c['PIS_BROKER'] === 'kafka',
  },
  {
    variable: 'PIS_MASTER_KEY',
    requires: 'required when PIS_ENVIRONMENT is production',
    when: (c) =>
      c['PIS_ENVIRONMENT'] === 'production' &&
      masterKeyVariables.every((variable) => c[variable] === undefined),
  },
  {
    variable: 'PIS_AUDIT_KEY',
    requires: 'required when PIS_ENVIRONMENT is production',
    when: (c) => c['PIS_ENVIRONMENT'] === 'production' && c['PIS_AUDIT_KEY_FILE'] === undefined,
  },
  {
    variable: 'PIS_BANKS_FILE',
    requires: 'required when PIS_ENVIRONMENT is production: the simulated bank moves no money',
    when: (c) => c['PIS_ENVIRONMENT'] === 'production',
  },
  {
    variable: 'PIS_SMTP_URL',
    requires: 'required when PIS_STAFF_EMAILS is set',
    when: (c) => c['PIS_STAFF_EMAILS'] !== undefined,
  },
  {
    variable: 'KAFKA_SASL_USERNAME',
    requires: 'required when KAFKA_SASL_MECHANISM is set',
    when: (c) => c['KAFKA_SASL_MECHANISM'] !== undefined,
  },
  {
    variable: 'KAFKA_SASL_PASSWORD',
    requires: 'required when KAFKA_SASL_MECHANISM is set',
    when: (c) => c['KAFKA_SASL_MECHANISM'] !== undefined,
  },
  {
    variable: 'KAFKA_SSL_KEY_FILE',
    requires: 'required when KAFKA_SSL_CERT_FILE is set',
    when: (c) => c['KAFKA_SSL_CERT_FILE'] !== undefined,
  },
  {
    variable: 'KAFKA_SSL_CERT_FILE',
    requires: 'required when KAFKA_SSL_KEY_FILE is set',
    when: (c) => c['KAFKA_SSL_KEY_FILE'] !== undefined,
  },
  {
    variable: 'PIS_OIDC_CLIENT_ID',
    requires: 'required when PIS_OIDC_ISSUER is set',
    when: (c) => c['PIS_OIDC_ISSUER'] !== undefined,
  },
  {
    variable: 'PIS_OIDC_CLIENT_SECRET',
    requires: 'required when PIS_OIDC_ISSUER is set, or PIS_OIDC_CLIENT_SECRET_FILE',
    when: (c) =>
      c['PIS_OIDC_ISSUER'] !== undefined && c['PIS_OIDC_CLIENT_SECRET_FILE'] === undefined,
  },
  {
    variable: 'PIS_PUBLIC_URL',
    requires: 'required when PIS_OIDC_ISSUER is set: the provider sends browsers back to it',
    when: (c) => c['PIS_OIDC_ISSUER'] !== undefined,
  },
];

export interface LoadOptions {
  /** Variables that this app requires, for example DATABASE_URL outside all-in-one. */
  readonly required?: readonly string[];
  /** Variables that this app requires in production, and why. */
  readonly requiredInProduction?: Readonly<Record<string, string>>;
}

/**
 * The configuration of an app: `loadConfig({ ...processEnv, ...storageEnv })`. An empty variable
 * counts as unset, as container platforms pass it.
 * @throws ConfigurationError with every problem at once
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  shape: Shape,
  env: Readonly<Record<string, string | undefined>>,
  options: LoadOptions = {},
): z.output<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(shape).map((name) => [name, env[name] === '' ? undefined : env[name]]),
  );
  const parsed = z.object(shape).safeParse(given, { error: wordsOf });
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);

  const values: Readonly<Record<string, unknown>> = parsed.success ? parsed.data : given;
  for (const { variable, requires, when } of crossRules)
    if (variable in shape && values[variable] === undefined && when(values))
      problems.push(`${variable}: ${requires}`);
  const keyVariables = masterKeyVariables.filter(
    (variable) => variable in shape && given[variable],
  );
  if (keyVariables.length > 1)
    problems.push(
      `${keyVariables[0]}: cannot be set together with ${keyVariables.slice(1).join(', ')}`,
    );
  if (given['PIS_AUDIT_KEY'] && given['PIS_AUDIT_KEY_FILE'])
    problems.push('PIS_AUDIT_KEY: cannot be set together with PIS_AUDIT_KEY_FILE');
  for (const variable of options.required ?? [])
    if (values[variable] === undefined) problems.push(`${variable}: required`);
  for (const [variable, reason] of Object.entries(options.requiredInProduction ?? {}))
    if (values['PIS_ENVIRONMENT'] === 'production' && values[variable] === undefined)
      problems.push(`${variable}: required when PIS_ENVIRONMENT is production: ${reason}`);
  if (env['PIS_BOOTSTRAP_API_KEY'] && values['PIS_ENVIRONMENT'] === 'production')
    problems.push('PIS_BOOTSTRAP_API_KEY: sandbox only');
  if (given['PIS_BANK_URL'] && values['PIS_ENVIRONMENT'] === 'production')
    problems.push('PIS_BANK_URL: sandbox only; PIS_BANKS_FILE names the banks');
  if (given['PIS_OIDC_ISSUER']?.startsWith('http:') && values['PIS_ENVIRONMENT'] === 'production')
    problems.push('PIS_OIDC_ISSUER: must be an HTTPS address in production');
  if (given['PIS_OIDC_CLIENT_SECRET'] && given['PIS_OIDC_CLIENT_SECRET_FILE'])
    problems.push(
      'PIS_OIDC_CLIENT_SECRET: cannot be set together with PIS_OIDC_CLIENT_SECRET_FILE',
    );

  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  return parsed.data;
}

/** Our words where the schema has none. Those of zod name its own terms. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'number' ? `must be at least ${issue.minimum}` : undefined;
    case 'too_big':
      return issue.origin === 'number' ? `must be at most ${issue.maximum}` : undefined;
    case 'invalid_format':
      return issue.format === 'email' ? 'must be an e-mail address' : undefined;
    default:
      return undefined;
  }
}
