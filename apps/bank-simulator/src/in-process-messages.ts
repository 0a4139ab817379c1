/** The message desk, reached in this process with the bytes that HTTPS would carry. */
import { BankRefused } from '@pis/bank-rails';
import { inboxPageMax, messageMaxBytes, type MessageTransport } from '@pis/bank-rails/connections';
import type { MessageDesk } from './message-desk.js';

export function inProcessMessages(desk: MessageDesk): MessageTransport {
  return {
    async send({ xml }) {
      if (xml.byteLength > messageMaxBytes) throw new BankRefused('the message is too large');
      return desk.answer(xml);
    },
    inbox: ({ after, max }) => desk.inbox({ after, max: Math.min(max, inboxPageMax) }),
    ping: () => Promise.resolve(),
    onMessage: (listener) => desk.onMessage(listener),
    close: () => Promise.resolve(),
  };
}
