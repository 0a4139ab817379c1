import { BaseRpcExceptionFilter } from '@nestjs/microservices';
import { throwError } from 'rxjs';
import { MessageContext } from './message-context.js';

let kept = false;

/**
 * Lets the strategies see the real error of a handler. Nest's last exception filter replaces every unknown
 * error by `{ status: 'error', message: 'Internal server error' }`. Then an unavailable database and an
 * unreadable message would look alike, and both would be parked.
 *
 * Rejected: a global filter (a hybrid app binds the handlers inside connectMicroservice, before a filter
 * can be given to it, and inheriting the app's configuration would run the HTTP guards on messages) and
 * a filter on each controller (forgetting it would lose messages silently). Filters that an app binds
 * itself still come first; contexts of other transports are not touched.
 */
export function keepHandlerErrors(): void {
  if (kept) return;
  kept = true;
  const answerError = BaseRpcExceptionFilter.prototype.catch;
  BaseRpcExceptionFilter.prototype.catch = function (exception, host) {
    const ours = host.getArgs().some((argument) => argument instanceof MessageContext);
    return ours ? throwError(() => exception) : answerError.call(this, exception, host);
  };
}
