import { MessageRefused } from './kafka.publisher.js';
import type { MessagePage, MessagePublisher } from './message.js';

/**
 * Publishes a page. A message that the broker refuses for good holds back its own stream and no other.
 * @returns what the broker took
 * @throws ProduceError
 */
export async function publishPage(
  publish: MessagePublisher['publish'],
  page: MessagePage,
): Promise<MessagePage['messages']> {
  let left = page.messages;
  let taken: MessagePage['messages'] = [];
  while (left.length > 0) {
    try {
      await publish(left);
      return [...taken, ...left];
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      const index = left.findIndex((message) => message === error.refused);
      const refused = left[index];
      if (refused === undefined || page.holdBack === undefined) throw error;
      const verdict = await page.holdBack(refused, `Kafka refused it: ${error.message}`);
      taken = [...taken, ...left.slice(0, index)];
      const after = left.slice(index + 1);
      left = verdict === 'skipped' ? after : after.filter(({ key }) => key !== refused.key);
    }
  }
  return taken;
}
