/**
 * Declares a route public: it needs no API key. No app starts with a route that is neither declared public
 * nor declared by an operation (@pis/http-api).
 */
import { RouteConfig } from '@nestjs/platform-fastify';
import type { RouteOptions } from 'fastify';

type Purpose = 'health' | 'metrics' | 'docs' | 'page' | 'bank' | 'dashboard';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The purpose of the route. */
    publicRoute?: Purpose;
  }
}

export const PublicRoute = (publicRoute: Purpose) => RouteConfig({ publicRoute });

/** Checks each route as it is added. Call this before the first one. @throws Error for an undeclared route */
export function refuseUndeclared({ method, url, config = {} }: RouteOptions): void {
  if (config.publicRoute === undefined && !('operation' in config))
    throw new Error(
      `${[method].flat().join()} ${url} is neither declared by an operation nor declared public`,
    );
}
