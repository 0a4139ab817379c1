/**
 * Routes that need no API key say so by name. An app with an API refuses to start with a route that
 * neither is declared by an operation nor says this (@pis/http-api).
 */
import { RouteConfig } from '@nestjs/platform-fastify';

type Purpose = 'health' | 'metrics' | 'docs' | 'page';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route is for. */
    publicRoute?: Purpose;
  }
}

export const PublicRoute = (publicRoute: Purpose) => RouteConfig({ publicRoute });
