/** How users sign in with an OpenID provider, as the environment says. */
import { readFileSync } from 'node:fs';
import { ConfigurationError, type DashboardConfig } from '@pis/service-kit';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** As the sign-in page calls the provider. */
  readonly name: string;
  /** Where the provider sends browsers back to. */
  readonly publicUrl: string;
}

/** Null without a provider. The file is read at once: a missing one must not wait for the first user. @throws ConfigurationError */
export function oidcSettings(config: DashboardConfig): OidcSettings | null {
  const {
    PIS_OIDC_ISSUER: issuer,
    PIS_OIDC_CLIENT_ID: clientId,
    PIS_PUBLIC_URL: publicUrl,
  } = config;
  if (issuer === undefined) return null;
  const clientSecret =
    config.PIS_OIDC_CLIENT_SECRET ?? secretIn(config.PIS_OIDC_CLIENT_SECRET_FILE);
  if (clientId === undefined || publicUrl === undefined || clientSecret === '')
    throw new ConfigurationError(['PIS_OIDC_ISSUER: the settings beside it are not complete']);
  return { issuer, clientId, clientSecret, name: config.PIS_OIDC_NAME, publicUrl };
}

function secretIn(file: string | undefined): string {
  if (file === undefined) return '';
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    // Without the message: it tells the path, which is the secret when somebody mixed the variables up.
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new ConfigurationError([`PIS_OIDC_CLIENT_SECRET_FILE: cannot be read: ${code}`]);
  }
}
