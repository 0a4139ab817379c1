/**
 * Requests that begin in time or never. A process that was frozen while one waited for a connection would send it when it
 * wakes up, before its timers run: by then others may have given up what it asks for.
 */
import type { Dispatcher } from 'undici';
import { stopwatch } from '../stopwatch.js';

/** For the `compose` of an agent. @param limitMs from the call until the request is on its connection */
export function begunWithin(limitMs: number): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const sinceMs = stopwatch();
    return dispatch(options, {
      onRequestStart(controller, context) {
        if (sinceMs() <= limitMs) handler.onRequestStart?.(controller, context);
        else controller.abort(new Error('it waited too long and was not sent'));
      },
      onResponseStart: (...answer) => handler.onResponseStart?.(...answer),
      onResponseData: (...answer) => handler.onResponseData?.(...answer),
      onResponseEnd: (...answer) => handler.onResponseEnd?.(...answer),
      onResponseError: (...answer) => handler.onResponseError?.(...answer),
    });
  };
}
