/** A route for a browser. It needs no API key, and its errors are HTML pages instead of the API's JSON. */
import { RouteConfig } from '@nestjs/platform-fastify';
import type { ErrorAnswer } from './errors.js';

/** Returns the HTML of an error. The status and the headers of the answer are the same as in the API. */
export type ErrorPage = (answer: ErrorAnswer) => string;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Only for a route of a page. */
    errorPage?: ErrorPage;
  }
}

export const PageRoute = (errorPage: ErrorPage) => RouteConfig({ publicRoute: 'page', errorPage });
