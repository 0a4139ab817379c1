/** What an app is: one value. Its main.ts runs the value, and all-in-one runs all of them together. */
import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { ConsumerGroup } from '@pis/integration';
import type { z } from 'zod';
import {
  brokerEnv,
  keyringEnv,
  type PlatformConfig,
  processEnv,
  storageEnv,
} from './environment.js';
import type { Logger } from './logging.js';

/** What every app reads. */
export const platformEnv = { ...processEnv, ...storageEnv, ...brokerEnv, ...keyringEnv } as const;

/** The configuration of an app that reads the variables of `Shape` beside those of platformEnv. */
export type ConfigOf<Shape extends z.ZodRawShape> = PlatformConfig & z.output<z.ZodObject<Shape>>;

export interface App<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Variables beyond platformEnv. */
  readonly env: Shape;
  /** Those of them, beside DATABASE_URL, that it cannot do without in a process of its own. */
  readonly required?: readonly (keyof Shape & string)[];
  /** Consumer groups whose handlers the module holds. */
  readonly consumers: readonly ConsumerGroup[];
  /** Routes and pages that strangers may reach. Metrics then move to a port of their own in production. */
  readonly publicPort?: boolean;
  /** Left out of a process with other apps unless this is the broker. */
  readonly onlyWithBroker?: PlatformConfig['PIS_BROKER'];
  /** The address to listen on when HOST is not set; 0.0.0.0 unless said otherwise. */
  readonly defaultHost?: string;
  /** How long it serves after SIGTERM when PIS_SHUTDOWN_DRAIN_MS is not set; containerDrainMs unless said otherwise. */
  readonly defaultDrainMs?: number;
  module(config: ConfigOf<Shape>): DynamicModule;
  /** Routes, parsers and hooks on the HTTP server, before it listens. */
  configureHttp?(app: NestFastifyApplication, config: ConfigOf<Shape>): void | Promise<void>;
  /** What else must be done before the consumers start. Every app waits for a current schema and its own stores. */
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

/** Several apps as one, in one process: it reads, consumes and serves what each of them does. */
export function together<const Apps extends readonly AnyApp[]>(
  name: string,
  apps: Apps,
): App<ShapeOf<Apps>> {
  // Sound: each variable of each app is in it.
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
