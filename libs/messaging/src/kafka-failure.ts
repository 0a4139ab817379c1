/** Errors of Kafka's client libraries in one form, so that no other module knows which library runs. */

/** A broker refused, or was not reached. Thrown by every KafkaClient. */
export class KafkaFailure extends Error {
  override readonly name = 'KafkaFailure';

  constructor(
    message: string,
    /** Kafka's names for what went wrong (`MESSAGE_TOO_LARGE`), outermost first. */
    readonly types: readonly string[],
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** The failure that a library's error stands for: its texts in one line, and Kafka's names in it. */
export function failureOf(error: unknown): KafkaFailure {
  if (error instanceof KafkaFailure) return error;
  const texts: string[] = [];
  const types: string[] = [];
  for (const link of linksOf(error)) {
    const { type, text } = link;
    if (type !== '' && !types.includes(type)) types.push(type);
    const said = type === '' || text.includes(type) ? text : `${text} (${type})`;
    if (said !== '' && !texts.some((known) => known.includes(said))) texts.push(said);
  }
  return new KafkaFailure(texts.join(': ').slice(0, textMax), types, error);
}

/** Runs `work` and rethrows what it throws as a KafkaFailure. */
export async function asFailure<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error);
  }
}

/** Whether a Kafka client threw it: the broker is unavailable, or it refuses. */
export function isBrokerError(error: unknown): boolean {
  return error instanceof KafkaFailure;
}

/** Kafka's names for what went wrong, of the error and of what caused it. */
export function errorTypes(error: unknown): readonly string[] {
  let link = error;
  for (let depth = 0; depth < depthMax && link instanceof Error; depth += 1) {
    if (link instanceof KafkaFailure) return link.types;
    link = link.cause;
  }
  return [];
}

const textMax = 900;
const depthMax = 8;
const linksMax = 30;

/** The error, what it consists of and what caused it. kafkajs names Kafka's error in `type`, platformatic in `apiId`. */
function linksOf(error: unknown): { readonly type: string; readonly text: string }[] {
  const found: { readonly type: string; readonly text: string }[] = [];
  const open: unknown[] = [error];
  while (open.length > 0 && found.length < linksMax) {
    const link = open.shift();
    if (typeof link !== 'object' || link === null) continue;
    const textOf = (key: string): string => {
      const value: unknown = Reflect.get(link, key);
      return typeof value === 'string' ? value : '';
    };
    const parts: unknown = Reflect.get(link, 'errors');
    const text = textOf('message');
    // platformatic leaves Kafka's name out of this one.
    const unknown = text.startsWith('Unknown topic ') ? 'UNKNOWN_TOPIC_OR_PARTITION' : '';
    found.push({ type: textOf('apiId') || textOf('type') || unknown, text });
    open.push(...(Array.isArray(parts) ? (parts as unknown[]) : []), Reflect.get(link, 'cause'));
  }
  return found;
}
