/** The ways to staff: e-mail over SMTP, and a webhook for chat and paging. */
import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createTransport } from 'nodemailer';
import type { Digest, StaffChannel } from './staff-digests.js';

export interface StaffConfig {
  readonly PIS_STAFF_EMAILS?: readonly string[] | undefined;
  readonly PIS_STAFF_EMAIL_FROM?: string | undefined;
  readonly PIS_SMTP_URL?: string | undefined;
  readonly PIS_STAFF_WEBHOOK_URL?: string | undefined;
}

/** Of connecting, and of each answer. */
const timeoutMs = 10_000;

export interface StaffChannelOptions {
  /** Trusted besides the system's certificates, for tests. */
  readonly ca?: string;
  /** The mail server took a digest, but never will for so many of the addresses. */
  readonly onMissed?: (addresses: number) => void;
}

export function staffChannels(
  config: StaffConfig,
  { ca, onMissed }: StaffChannelOptions = {},
): readonly StaffChannel[] {
  const {
    PIS_STAFF_EMAILS: to = [],
    PIS_SMTP_URL: smtpUrl,
    PIS_STAFF_WEBHOOK_URL: webhook,
  } = config;
  const channels: StaffChannel[] = [];
  if (to.length > 0 && smtpUrl !== undefined) {
    const from = config.PIS_STAFF_EMAIL_FROM ?? `pis@${new URL(smtpUrl).hostname}`;
    channels.push(...emailChannels(smtpUrl, { from, to, onMissed }));
  }
  if (webhook !== undefined) channels.push(webhookChannel(webhook, ca));
  return channels;
}

interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  readonly onMissed: StaffChannelOptions['onMissed'];
}

/** One to all addresses, and one to each of them for what the mail server did not take for it yet. */
function emailChannels(smtpUrl: string, { from, to, onMissed }: Letter): readonly StaffChannel[] {
  const repeats = new Map(to.map((address) => [address.toLowerCase(), repeatName(address)]));
  const toAll: StaffChannel = {
    name: 'email',
    async send(digest) {
      const { rejectedErrors = [] } = await mail(smtpUrl, { from, to, digest });
      // The others have it. Sent again to all, it would reach them again and again.
      const later = rejectedErrors.flatMap((error) =>
        isPermanent(error) ? [] : (repeats.get(error.recipient?.toLowerCase() ?? '') ?? []),
      );
      const missed = rejectedErrors.length - later.length;
      if (missed > 0) onMissed?.(missed);
      return later;
    },
  };
  const toOne = (address: string): StaffChannel => ({
    name: repeatName(address),
    isRepeat: true,
    async send(digest) {
      try {
        await mail(smtpUrl, { from, to: [address], digest });
      } catch (error) {
        if (!isPermanent(error)) throw error;
        onMissed?.(1);
      }
      return [];
    },
  });
  return [toAll, ...to.map(toOne)];
}

/** The tables hold no addresses of staff. */
function repeatName(address: string): string {
  return `email ${createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 16)}`;
}

/** Whether the mail server will never take mail for this address. */
function isPermanent(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
  return code === 'EENVELOPE' && responseCode >= 500;
}

async function mail(
  smtpUrl: string,
  { from, to, digest }: Omit<Letter, 'onMissed'> & { readonly digest: Digest },
) {
  // A connection for each digest: they are minutes apart.
  const transport = createTransport({
    url: smtpUrl,
    // A password never goes over a connection without TLS.
    requireTLS: new URL(smtpUrl).username !== '',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { subject, text } = digest;
    return await transport.sendMail({ from, to: [...to], subject, text });
  } finally {
    transport.close();
  }
}

/** `text` is what chat systems show; the rest is for programs. Redirects are failures. */
function webhookChannel(url: string, ca: string | undefined): StaffChannel {
  return { name: 'webhook', send: (digest) => post(new URL(url), digest, ca) };
}

function post(url: URL, digest: Digest, ca: string | undefined): Promise<readonly string[]> {
  const body = JSON.stringify(digest);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const options = { method: 'POST', headers, timeout: timeoutMs, agent: false } as const;
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, ...(ca !== undefined && { ca }) })
        : httpRequest(url, options);
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      response.resume();
      if (statusCode >= 200 && statusCode < 300) resolve([]);
      else reject(new Error(`the staff webhook answered ${statusCode}`));
    });
    request.on('timeout', () => request.destroy(new Error('the staff webhook did not answer')));
    request.on('error', (error) => reject(new Error(`the staff webhook failed: ${error.message}`)));
    request.end(body);
  });
}
