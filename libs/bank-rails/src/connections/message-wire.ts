/**
 * How ISO 20022 messages go over HTTPS. The rails prescribe no such protocol, so this is ours, and that of
 * bank-simulator:
 *
 *   POST {base}/messages                     body: the message, application/xml; Message-Id: its MsgId
 *     200, application/xml                   the bank's direct answer
 *     202 or 204                             it answers later, through the inbox
 *   GET {base}/messages?after=CURSOR&max=N   the bank's messages for us: JSON, see inboxPageSchema.
 *                                          At most N. Behind 16 or more the next ones are asked for at once
 */
import { z } from 'zod';
import { type BankMessagePage, inboxPageMax, messageMaxBytes } from './message-transport.js';

export const messagesPath = '/messages';
export const messageIdHeader = 'message-id';
export const xmlType = 'application/xml';

/** Opaque text that can be stored and compared. */
const cursor = z.string().regex(/^[\x21-\x7e]{0,200}$/);
const base64Max = Math.ceil(messageMaxBytes / 3) * 4;

/** The query of the inbox; numbers arrive as text. */
export const inboxQuerySchema = z.object({
  after: cursor,
  max: z.coerce.number().int().min(1).max(inboxPageMax),
});

const messageSchema = z.object({
  sequence: cursor.min(1),
  /** Base64: a message may be in any encoding, and may be no XML at all. */
  xml: z.base64().max(base64Max),
});

const inboxPageSchema = z.object({
  messages: z.array(messageSchema).max(inboxPageMax),
  cursor,
});

export function inboxPageToWire({ messages, cursor: next }: BankMessagePage) {
  return {
    messages: messages.map(({ sequence, xml }) => ({
      sequence,
      xml: Buffer.from(xml).toString('base64'),
    })),
    cursor: next,
  } satisfies z.input<typeof inboxPageSchema>;
}

/** Null when it is no page of an inbox. */
export function inboxPageFromWire(text: string): BankMessagePage | null {
  const parsed = inboxPageSchema.safeParse(parseJson(text));
  if (!parsed.success) return null;
  return {
    messages: parsed.data.messages.map(({ sequence, xml }) => ({
      sequence,
      xml: Buffer.from(xml, 'base64'),
    })),
    cursor: parsed.data.cursor,
  };
}

/** Undefined for text that is not JSON: no schema takes it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
