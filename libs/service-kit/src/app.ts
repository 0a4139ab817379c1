/** An app is one value. Its main.ts runs the value, and all-in-one runs all of these values together. */
import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { ConsumerGroup } from '@pis/integration';
import type { z } from 'zod';
import type { PlatformConfig } from './environment.js';
import type { Logger } from './logging.js';

/** The configuration of an app that reads the variables of `Shape` in addition to platformEnv. */
export type ConfigOf<Shape extends z.ZodRawShape> = PlatformConfig & z.output<z.ZodObject<Shape>>;

export interface App<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Variables in addition to platformEnv. */
  readonly env: Shape;
  /** Those that it requires, besides DATABASE_URL, when it runs as its own process. */
  readonly required?: readonly (keyof Shape & string)[];
  /** Those that its own process requires in production, and why. In the sandbox the log says what is missing. */
  readonly requiredInProduction?: Readonly<Partial<Record<keyof Shape & string, string>>>;
  /** Consumer groups whose handlers the module holds. */
  readonly consumers: readonly ConsumerGroup[];
  /** Whether the public can reach its routes or pages. In production, metrics then have their own port. */
  readonly publicPort?: boolean;
  /** In a process with other apps, this app runs only with this broker. */
  readonly onlyWithBroker?: PlatformConfig['PIS_BROKER'];
  /** The address to listen on when HOST is not set. Default: 0.0.0.0. */
  readonly defaultHost?: string;
  /** How long it serves after SIGTERM when PIS_SHUTDOWN_DRAIN_MS is not set. Default: containerDrainMs. */
  readonly defaultDrainMs?: number;
  module(config: ConfigOf<Shape>): DynamicModule;
  /** Routes, parsers and hooks on the HTTP server, before it listens. */
  configureHttp?(app: NestFastifyApplication, config: ConfigOf<Shape>): void | Promise<void>;
  /** Further work before the consumers start. Every app waits for a current schema and checked stores. */
  prepare?(context: PrepareContext<Shape>): Promise<void>;
}

export interface PrepareContext<Shape extends z.ZodRawShape> {
  readonly app: INestApplication;
  readonly config: ConfigOf<Shape>;
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Aborted when the app shuts down while it still waits. */
  readonly signal: AbortSignal;
}

/** Infers the configuration of the app from its variables. */
export function defineApp<Shape extends z.ZodRawShape>(app: App<Shape>): App<Shape> {
  return app;
}

/** An app with any variables. */
type AnyApp = Pick<App, 'env' | 'consumers' | 'publicPort' | 'onlyWithBroker'> & {
  module(config: never): DynamicModule;
  prepare?(context: never): Promise<void>;
  configureHttp?(app: NestFastifyApplication, config: never): void | Promise<void>;
};

type ShapeOf<Apps extends readonly AnyApp[]> = {
  [Name in AllKeys<Apps[number]['env']>]: ValueOf<Apps[number]['env'], Name>;
};
type AllKeys<Shape> = Shape extends unknown ? keyof Shape : never;
type ValueOf<Shape, Name extends PropertyKey> = Shape extends { readonly [In in Name]: infer Value }
  ? Value
  : never;

@Module({})
class Together {}

/** Combines several apps into one that runs in one process. */
export function together<const Apps extends readonly AnyApp[]>(
  name: string,
  apps: Apps,
): App<ShapeOf<Apps>> {
  // Sound: it contains each variable of each app.
  const env = Object.assign({}, ...apps.map((app) => app.env)) as ShapeOf<Apps>;
  return {
    name,
    env,
    consumers: apps.flatMap(({ consumers }) => consumers),
    publicPort: apps.some(({ publicPort }) => publicPort === true),
    // `as never`: the configuration was read with the variables of each app.
    module: (config) => ({
      module: Together,
      imports: running(apps, config).map((app) => app.module(config as never)),
    }),
    configureHttp: async (http, config) => {
      for (const app of running(apps, config)) await app.configureHttp?.(http, config as never);
    },
    prepare: async (context) => {
      for (const app of running(apps, context.config)) await app.prepare?.(context as never);
    },
  };
}

function running(apps: readonly AnyApp[], { PIS_BROKER }: PlatformConfig): readonly AnyApp[] {
  return apps.filter(({ onlyWithBroker = PIS_BROKER }) => onlyWithBroker === PIS_BROKER);
}
