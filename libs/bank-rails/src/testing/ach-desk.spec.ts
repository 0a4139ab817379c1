import { AchDesk } from './ach-desk.js';
import { fileTransportConformance } from './file-transport.conformance.js';

fileTransportConformance('of the bank in memory', () => {
  const desk = new AchDesk();
  desk.answersAtOnce = false;
  return Promise.resolve({
    transport: desk.transport(),
    received: () => desk.outbox,
    leave: (name: string, bytes: Uint8Array) => desk.post(name, bytes),
    close: () => Promise.resolve(),
  });
});
