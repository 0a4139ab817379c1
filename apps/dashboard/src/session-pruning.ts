/** Deletes ended sessions, attempts and counts of sign-ins, so that their tables stay small. */
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type Logger, LOGGER, Repeating } from '@pis/service-kit';
import { SignIn } from '@pis/users';
import { OidcAttempts } from './oidc/oidc-attempts.js';
import { SignInLimit } from './sign-in-limit.js';

const roundMs = 60_000;

@Injectable()
export class SessionPruning implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly repeating: Repeating;

  constructor(
    @Inject(SignIn) signIn: SignIn,
    @Inject(OidcAttempts) attempts: OidcAttempts,
    @Inject(SignInLimit) limit: SignInLimit,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.repeating = new Repeating({
      round: async () => {
        await signIn.prune();
        await attempts.prune();
        await limit.prune();
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
