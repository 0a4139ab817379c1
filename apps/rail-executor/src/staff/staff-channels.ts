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

/** @param options.ca trusted besides the system's certificates, for tests */
export function staffChannels(
  config: StaffConfig,
  { ca }: { readonly ca?: string } = {},
): readonly StaffChannel[] {
  const {
    PIS_STAFF_EMAILS: to = [],
    PIS_SMTP_URL: smtpUrl,
    PIS_STAFF_WEBHOOK_URL: webhook,
  } = config;
  const channels: StaffChannel[] = [];
  if (to.length > 0 && smtpUrl !== undefined) {
    const from = config.PIS_STAFF_EMAIL_FROM ?? `pis@${new URL(smtpUrl).hostname}`;
    channels.push(emailChannel(smtpUrl, from, to));
  }
  if (webhook !== undefined) channels.push(webhookChannel(webhook, ca));
  return channels;
}

function emailChannel(smtpUrl: string, from: string, to: readonly string[]): StaffChannel {
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
        if (rejected.length > 0) throw new Error('the mail server refused an address of staff');
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
