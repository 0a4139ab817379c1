/** `@pis/bank-rails/http`: the connection to a bank over HTTP, which loads a client that most processes do not use. */
export * from './http-bank-connection.js';
