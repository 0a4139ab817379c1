import { BaseRpcContext } from '@nestjs/microservices';
import type { Delivery } from './message.js';

/** What a handler gets beside the value: `@Ctx() context: MessageContext`. */
export class MessageContext extends BaseRpcContext<[Delivery]> {
  /** The message itself: key, headers (`traceparent` among them), offset and the number of this attempt. */
  getDelivery(): Delivery {
    return this.args[0];
  }
}
