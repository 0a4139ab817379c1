/**
 * The handler of a declared operation. The declaration determines the route, the status, the guard, and
 * the types of parameters and answer.
 */
import {
  type CanActivate,
  type ExecutionContext,
  HttpCode,
  Injectable,
  RequestMapping,
  RequestMethod,
  UseGuards,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { BodyOf, DataOf, OperationDeclaration, QueryOf } from '@pis/contracts';
import type { CommandContext } from '@pis/event-store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, permits } from './authentication.js';
import { inputsAmiss } from './inputs.js';
import type { Answer, Given } from './requests.js';

export interface OperationOptions {
  /** For a handler that waits for another server and limits this itself. Its calls of the store stay limited. */
  readonly hasOwnTimeLimit?: boolean;
}

/** Makes a method the handler of an operation. If their types differ, it does not compile. */
export function Operation<const Declared extends OperationDeclaration>(
  declared: Declared,
  options: OperationOptions = {},
) {
  return <Handler extends (...inputs: never[]) => unknown>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Handler> & Mismatch<Declared, Handler>,
  ): void => {
    const amiss = inputsAmiss(declared, target, name);
    if (amiss.length > 0)
      throw new Error(`${declared.operationId} and its handler differ in: ${amiss.join(', ')}`);
    const [status = '200'] = Object.keys(declared.answers);
    const decorators: MethodDecorator[] = [
      RequestMapping({ path: routeOf(declared), method: RequestMethod[declared.method] }),
      HttpCode(Number(status)),
      RouteConfig({ operation: declared, ...options }),
      UseGuards(AdmittedOnly),
    ];
    for (const decorate of decorators) decorate(target, name, descriptor);
  };
}

/** `/v1/payments/{paymentId}` as a route. Every path works with and without a trailing slash. */
function routeOf({ path }: OperationDeclaration): string {
  return path.replace(/\/$/, '').replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * The hooks of http.ts admit a request before its body is read. This guard is a second check: it refuses
 * every request that no hook admitted.
 */
@Injectable()
class AdmittedOnly implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { operation, caller } = context.switchToHttp().getRequest<Partial<FastifyRequest>>();
    return operation != null && caller != null && permits(operation, caller);
  }
}

/** The type of a handler's parameter: the input, or a part of it. */
type Inputs<Declared> =
  | BodyOf<Declared>
  | QueryOf<Declared>
  | Given<QueryOf<Declared>>
  | (Declared extends { readonly ids: unknown } | { readonly headers: unknown } ? string : never);
/** Parameters that any handler may take. */
type Always = Caller | CommandContext | FastifyRequest | FastifyReply;

type IsAlways<Parameter> = Always extends infer One
  ? One extends Always
    ? [One, Parameter] extends [Parameter, One]
      ? true
      : never
    : never
  : never;
type IsInput<Declared, Parameter> =
  Inputs<Declared> extends infer One ? (One extends Parameter ? true : never) : never;
type Foreign<Declared, Parameters> = Parameters extends readonly [infer First, ...infer Rest]
  ? [IsAlways<First> | IsInput<Declared, First>] extends [never]
    ? First
    : Foreign<Declared, Rest>
  : never;

type Answers<Declared, Result> = [DataOf<Declared>] extends [never]
  ? true
  : [Result] extends [never]
    ? true
    : Awaited<Result> extends Answer<infer Data>
      ? Shows<Data, DataOf<Declared>>
      : false;
/** Compares fields: a view may be wider than its schema, for example a string for an enum, or narrower. */
type Shows<Data, Declared> = [Data] extends [Declared]
  ? true
  : [keyof RecordIn<Data>, keyof RecordIn<Declared>] extends [
        keyof RecordIn<Declared>,
        keyof RecordIn<Data>,
      ]
    ? [Unrelated<RecordIn<Data>, RecordIn<Declared>>] extends [never]
      ? true
      : false
    : false;
type RecordIn<Data> = Data extends readonly (infer Item)[] ? Item : Data;
type Unrelated<One, Other> = {
  [Field in keyof One & keyof Other]: [One[Field]] extends [Other[Field]]
    ? never
    : [Other[Field]] extends [One[Field]]
      ? never
      : Field;
}[keyof One & keyof Other];

/** Empty for a handler that fits. Otherwise a member that no descriptor has, so that it does not compile. */
type Mismatch<Declared, Handler extends (...inputs: never[]) => unknown> = [
  Foreign<Declared, Parameters<Handler>>,
] extends [never]
  ? Answers<Declared, ReturnType<Handler>> extends true
    ? unknown
    : { readonly 'the answer is not that of the operation': DataOf<Declared> }
  : {
      readonly 'a parameter is no input of the operation': Foreign<Declared, Parameters<Handler>>;
    };
