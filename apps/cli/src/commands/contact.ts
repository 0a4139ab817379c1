import { Command } from 'commander';
import { erase, type EraseOptions, withErasure } from '../erasure.js';

export function contactCommands(): Command {
  const contact = new Command('contact').description('the parties on the other side of payments');
  withErasure(
    contact
      .command('erase')
      .description('erase the personal data of a contact for good; its payments stay'),
  ).action((options: EraseOptions) => erase('contact', options));
  return contact;
}
