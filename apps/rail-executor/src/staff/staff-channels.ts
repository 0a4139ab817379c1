/** The ways to staff: e-mail over SMTP, and a webhook for chat and paging. */
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
  /** The mail server took a digest, but not for so many of the addresses. */
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
    channels.push(emailChannel(smtpUrl, { from, to, onMissed }));
  }
  if (webhook !== undefined) channels.push(webhookChannel(webhook, ca));
  return channels;
}

interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  readonly onMissed: StaffChannelOptions['onMissed'];
}

function emailChannel(smtpUrl: string, { from, to, onMissed }: Letter): StaffChannel {
  return {
    name: 'email',
    async send({ subject, text }) {
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
        const { rejected } = await transport.sendMail({ from, to: [...to], subject, text });
        // The others have it. Sent again, it would reach them again and again, for as long as the address is refused.
        if (rejected.length > 0) onMissed?.(rejected.length);
      } finally {
        transport.close();
      }
    },
  };
}

/** `text` is what chat systems show; the rest is for programs. Redirects are failures. */
function webhookChannel(url: string, ca: string | undefined): StaffChannel {
  return { name: 'webhook', send: (digest) => post(new URL(url), digest, ca) };
}

function post(url: URL, digest: Digest, ca: string | undefined): Promise<void> {
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
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`the staff webhook answered ${statusCode}`));
    });
    request.on('timeout', () => request.destroy(new Error('the staff webhook did not answer')));
    request.on('error', (error) => reject(new Error(`the staff webhook failed: ${error.message}`)));
    request.end(body);
  });
}
