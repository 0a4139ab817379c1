/** For the specs of the sealed store: a store over a log in memory, and a history with personal data in it. */
import { contact, originator, payment } from '@pis/domain';
import {
  contactExample,
  ids,
  later,
  originatorExample,
  paymentCommands,
} from '@pis/domain/testing';
import { systemContext } from '../command-context.js';
import { MemoryLog, memoryEventStore } from '../memory/memory-event-store.js';
import { repository } from '../repository.js';
import { sealedStore } from '../sealed-store.js';
import { MemorySealing } from './memory-sealing.js';

export const by = systemContext('test');
export const at = '2026-11-21T09:00:00.000Z';
export const changes = { email: 'ada@other.example', phoneNumber: '+12175550199' };

export function sealedWorld() {
  const log = new MemoryLog();
  const sealing = new MemorySealing();
  const store = sealedStore(memoryEventStore(log), sealing);
  return {
    log,
    sealing,
    store,

    /** A contact that was changed, its originator, and a payment that was processed. */
    async history(): Promise<void> {
      const contacts = repository(store, contact);
      await contacts.create(ids.contact, { type: 'CreateContact', at, data: contactExample() }, by);
      const change = { changes, identity: 'identity-2' };
      await contacts.execute(ids.contact, { type: 'UpdateContact', at: later, data: change }, by);
      const created = { type: 'CreateOriginator', at, data: originatorExample() } as const;
      await repository(store, originator).create(ids.originator, created, by);
      const payments = repository(store, payment);
      await payments.create(ids.payment, { ...paymentCommands.QueuePayment, at }, by);
      await payments.execute(ids.payment, paymentCommands.ProcessPayment, by);
    },

    /** The first event of a type, as it is stored. */
    stored: (type: string) => log.events.find((event) => event.type === type),
  };
}
