import { BaseRpcContext } from '@nestjs/microservices';
import type { Delivery } from './message.js';
import { waitingSinceHeader } from './message-headers.js';

/** What a handler gets beside the value: `@Ctx() context: MessageContext`. */
export class MessageContext extends BaseRpcContext<[Delivery]> {
  /** The message itself: key, headers (`traceparent` among them), offset and the number of this attempt. */
  getDelivery(): Delivery {
    return this.args[0];
  }

  /** Since when it waits in the retry table, the dead letters or quarantine. Null for one that comes in time. */
  waitingSince(): Date | null {
    const since = new Date(this.args[0].headers[waitingSinceHeader] ?? NaN);
    return Number.isNaN(since.getTime()) ? null : since;
  }
}
