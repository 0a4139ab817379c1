/** Deletes ended sessions, so that their table stays as small as the number of users allows. */
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type Logger, LOGGER, Repeating } from '@pis/service-kit';
import { SignIn } from '@pis/users';

const roundMs = 60_000;

@Injectable()
export class SessionPruning implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly repeating: Repeating;

  constructor(@Inject(SignIn) signIn: SignIn, @Inject(LOGGER) logger: Logger) {
    this.repeating = new Repeating({
      round: async () => {
        await signIn.prune();
        return roundMs;
      },
      failed: (error) => {
        logger.warn({ err: error }, 'ended sessions could not be deleted');
        return roundMs;
      },
    });
  }

  onApplicationBootstrap(): void {
    this.repeating.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.repeating.stop();
  }
}
