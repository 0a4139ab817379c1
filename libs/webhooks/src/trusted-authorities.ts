import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/**
 * The system's roots, for TLS 1.2 or later.
 * @param extraCaPem certificates trusted in addition
 * @throws Error when they cannot be read
 */
export function trustedAuthorities(extraCaPem: string | undefined): SecureContext {
  const ca = extraCaPem === undefined ? {} : { ca: [...getCACertificates(), extraCaPem] };
  return createSecureContext({ minVersion: 'TLSv1.2', ...ca });
}
