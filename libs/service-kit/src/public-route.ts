/**
 * Routes that need no API key say so by name. No app starts with a route that neither is declared by an
 * operation (@pis/http-api) nor says this.
 */
import { RouteConfig } from '@nestjs/platform-fastify';
import type { RouteOptions } from 'fastify';

type Purpose = 'health' | 'metrics' | 'docs' | 'page' | 'bank';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route is for. */
    publicRoute?: Purpose;
  }
}

export const PublicRoute = (publicRoute: Purpose) => RouteConfig({ publicRoute });

/** A hook for each route, before any is added. @throws Error for one that nobody declared */
export function refuseUndeclared({ method, url, config = {} }: RouteOptions): void {
  if (config.publicRoute === undefined && !('operation' in config))
    throw new Error(`${[method].flat().join()} ${url} is neither an operation nor public by name`);
}
