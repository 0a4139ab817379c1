/**
 * Tokens for the providers of PlatformModule, as in `@Inject(EVENT_STORE) store: EventStore`. They are
 * symbols, because interfaces have no run-time type.
 */
export const EVENT_STORE = Symbol('EventStore');
export const KEYRING = Symbol('Keyring');
/** The pg Pool on DATABASE_URL. */
export const PG_POOL = Symbol('PgPool');
/** WakeUps, of libs/postgres. */
export const WAKE_UPS = Symbol('WakeUps');
/** pino.Logger, a child of the app's. */
export const LOGGER = Symbol('Logger');
/** prom-client Registry, served at /metrics. */
export const METRICS = Symbol('Metrics');
/** LogWatch, see log-watch.ts. */
export const LOG_WATCH = Symbol('LogWatch');
/** Health, see health.ts. */
export const HEALTH = Symbol('Health');
/** StoreCheck: checks that the stores are this process's own and lets it use them; see store-binding.ts. */
export const STORE_CHECK = Symbol('StoreCheck');
