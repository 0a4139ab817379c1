/** A route for a browser. It needs no API key, and its errors are HTML pages instead of the API's JSON. */
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { ErrorAnswer } from './errors.js';

/**
 * Returns the HTML of an error. The status and the headers of the answer are the same as in the API. The request
 * tells the language of its reader.
 */
export type ErrorPage = (answer: ErrorAnswer, request: FastifyRequest) => string;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Only for a route of a page. */
    errorPage?: ErrorPage;
    /** Headers of every answer of the route, also of an error. They replace those that every answer has. */
    pageHeaders?: Readonly<Record<string, string>>;
  }
}

export const PageRoute = (
  errorPage: ErrorPage,
  pageHeaders: Readonly<Record<string, string>> = {},
) => RouteConfig({ publicRoute: 'page', errorPage, pageHeaders });
