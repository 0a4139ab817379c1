/** Opens the connection to a bank that PIS_BANKS_FILE describes. Reads its secrets. */
import { readFile } from 'node:fs/promises';
import type { HttpsConfig, SecretReference, SftpConfig } from './bank-config.js';
import type { FileTransport } from './file-transport.js';
import type { MessageTransport } from './message-transport.js';

export interface OpenTransportOptions {
  /** The name of the connection, for messages. */
  readonly name: string;
  /** The environment variables that hold secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn?: (message: string) => void;
}

/** The operator must change the configuration. The message names the secret and never shows it. */
export class BankSecretMissing extends Error {
  override readonly name = 'BankSecretMissing';
}

/** Connects only when it is used. @throws BankSecretMissing */
export async function openFileTransport(
  config: SftpConfig,
  options: OpenTransportOptions,
): Promise<FileTransport> {
  const { credentials, kind: _kind, ...rest } = config;
  const { warn } = options;
  const secret = (reference: SecretReference) => secretOf(reference, options);
  const read =
    'password' in credentials
      ? { password: await secret(credentials.password) }
      : {
          privateKey: await secret(credentials.privateKey),
          passphrase: credentials.passphrase && (await secret(credentials.passphrase)),
        };
  const { sftpFiles } = await import('./sftp-files.js');
  return usable(options, () =>
    sftpFiles({ ...rest, credentials: read, ...(warn !== undefined && { warn }) }),
  );
}

/** Connects only when it is used. @throws BankSecretMissing */
export async function openMessageTransport(
  config: HttpsConfig,
  options: OpenTransportOptions,
): Promise<MessageTransport> {
  const { baseUrl, caFile, certificateFile, pollMs } = config;
  const [ca, certificate, privateKey] = await Promise.all([
    secretOf({ file: caFile }, options),
    secretOf({ file: certificateFile }, options),
    secretOf(config.privateKey, options),
  ]);
  const { httpsMessages } = await import('./https-messages.js');
  return usable(options, () => httpsMessages({ baseUrl, ca, certificate, privateKey, pollMs }));
}

/** A trailing line end is not part of a secret: commands that print one add it. */
async function secretOf(
  reference: SecretReference,
  { name, env }: OpenTransportOptions,
): Promise<string> {
  const missing = (what: string, cause?: unknown) =>
    new BankSecretMissing(`${name}: ${what}`, { cause });
  if ('variable' in reference) {
    const value = env[reference.variable];
    if (value === undefined || value === '')
      throw missing(`the environment variable ${reference.variable} is not set`);
    return value;
  }
  let text: string;
  try {
    text = await readFile(reference.file, 'utf8');
  } catch (error) {
    throw missing(`${reference.file} cannot be read: ${(error as Error).message}`, error);
  }
  if (text.trim() === '') throw missing(`${reference.file} is empty`);
  return text.replace(/\r?\n$/, '');
}

function usable<Transport>({ name }: OpenTransportOptions, open: () => Transport): Transport {
  try {
    return open();
  } catch (error) {
    throw new BankSecretMissing(`${name}: ${(error as Error).message}`, { cause: error });
  }
}
