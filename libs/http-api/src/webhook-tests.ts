import type { OnModuleDestroy } from '@nestjs/common';
import { WebhookTests } from '@pis/commands';

/** The test deliveries of an app. They are cut when it stops. */
export class ServedWebhookTests extends WebhookTests implements OnModuleDestroy {
  onModuleDestroy(): Promise<void> {
    return this.close();
  }
}
