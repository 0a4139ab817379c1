/**
 * The port to a bank that exchanges single messages (ISO 20022). A message that is sent again under the same
 * id with the same bytes is the same message: the bank answers it as before and does nothing twice.
 */

export interface BankMessage {
  /** Its position in the inbox: `after: sequence` continues behind it. */
  readonly sequence: string;
  readonly xml: Uint8Array;
}

export interface BankMessagePage {
  readonly messages: readonly BankMessage[];
  /** For the next call; unchanged when there was nothing. */
  readonly cursor: string;
}

/** Every method @throws BankUnavailable (the outcome is unknown: ask again), BankRefused (nothing was done) */
export interface MessageTransport {
  /**
   * Sends one message. Resolves with the bank's direct answer, or null when it answers later through the
   * inbox.
   * @param message.id its MsgId: 1 to 35 printable ASCII characters
   */
  send(message: { readonly id: string; readonly xml: Uint8Array }): Promise<Uint8Array | null>;
  /** The bank's messages for us, in one order that never changes behind a cursor. `after` is '' at first. */
  inbox(page: { readonly after: string; readonly max: number }): Promise<BankMessagePage>;
  /** A sign of life of the bank. */
  ping(): Promise<void>;
  /** Calls back when there may be a new message: a hint that may be missing or wrong. */
  onMessage(listener: () => void): () => void;
  close(): Promise<void>;
}

/** The largest page of the inbox. */
export const inboxPageMax = 500;
/** Of one message, in either direction. */
export const messageMaxBytes = 128 * 1024;
export const messageIdForm = /^[\x21-\x7e]{1,35}$/;
