/**
 * Routes that need no API key say so by name. An app with an API refuses to start with a route that
 * neither is declared by an operation nor says this (@pis/http-api).
 */
import { RouteConfig } from '@nestjs/platform-fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route is for. */
    publicRoute?: 'health' | 'metrics' | 'docs';
  }
}

export const PublicRoute = (publicRoute: 'health' | 'metrics' | 'docs') =>
  RouteConfig({ publicRoute });
