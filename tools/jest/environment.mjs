/**
 * Jest's environment for Node.js with an ordinary global object. Jest's own global object is a proxy, which is asked
 * for every global name (Buffer, Math, Promise). Specs that compute much take up to half of their CPU time for that.
 */
import { constants, createContext } from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

export default class OrdinaryGlobal extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const { projectConfig } = config;
    const { global: given } = this;
    const global = createContext(constants.DONT_CONTEXTIFY);
    const own = new Set(Reflect.ownKeys(global));
    for (const key of Reflect.ownKeys(given))
      if (!own.has(key)) Object.defineProperty(global, key, property(global, given, key));
    Object.assign(global, { global, ArrayBuffer, Uint8Array });
    global.Error.stackTraceLimit = given.Error.stackTraceLimit;
    Object.assign(this, {
      context: global,
      global,
      moduleMocker: new this.moduleMocker.constructor(global),
      fakeTimersModern: new this.fakeTimersModern.constructor({ config: projectConfig, global }),
    });
  }
}

/** Node.js loads some globals (fetch, crypto) when they are first read, and a test may replace them. */
function property(global, given, key) {
  const descriptor = Object.getOwnPropertyDescriptor(given, key);
  const { configurable, enumerable } = descriptor;
  if (!configurable || descriptor.get === undefined) return descriptor;
  const set = (value) =>
    Object.defineProperty(global, key, { configurable, enumerable, writable: true, value });
  const get = () => {
    set(given[key]);
    return global[key];
  };
  return { configurable, enumerable, get, set };
}
