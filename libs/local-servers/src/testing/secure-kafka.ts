/**
 * A real Kafka broker that lets in only clients that prove who they are, and only to what its ACLs allow. Its
 * PLAINTEXT listener is for the test itself, as the administrator.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kafka, startKafka } from '../kafka.js';
import { makeAuthority } from './https-receiver.js';

export interface SecureKafka {
  readonly kafka: Kafka;
  /** TLS, and a user's password by SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. */
  readonly saslBroker: string;
  /** TLS, and a client certificate. Its common name is the user. */
  readonly mtlsBroker: string;
  /** Of the authority that signed the broker's certificate. */
  readonly caPem: string;
  readonly client: { readonly cert: string; readonly key: string };
  stop(): Promise<void>;
}

export interface SecureKafkaOptions {
  /** Passwords by user, for all three mechanisms. */
  readonly users: Readonly<Record<string, string>>;
  /** The user of the client certificate. */
  readonly certificateUser: string;
}

export async function startSecureKafka(options: SecureKafkaOptions): Promise<SecureKafka> {
  const folder = mkdtempSync(join(tmpdir(), 'pis-secure-kafka-'));
  const authority = await makeAuthority();
  const server = await authority.issue(['127.0.0.1', 'localhost']);
  const client = await authority.issue([options.certificateUser], 'clientAuth');
  const keys = join(folder, 'broker.pem');
  const trusted = join(folder, 'trusted.pem');
  writeFileSync(keys, `${server.key}${server.cert}\n`);
  writeFileSync(trusted, `${authority.caPem}\n`);
  const users = Object.entries(options.users);
  const kafka = await startKafka({
    listeners: { SASL: 'SASL_SSL', MTLS: 'SSL' },
    properties: {
      // Nobody kills it, and a busy machine must not fence it.
      'broker.session.timeout.ms': '60000',
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // Who comes by PLAINTEXT: the broker itself, and the test.
      'super.users': 'User:ANONYMOUS',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keys,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': trusted,
      'listener.name.mtls.ssl.client.auth': 'required',
      'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/,DEFAULT',
      'listener.name.sasl.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.sasl.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${users
        .map(([name, password]) => `user_${name}="${password}"`)
        .join(' ')};`,
      ...Object.fromEntries(
        ['256', '512'].map((bits) => [
          `listener.name.sasl.scram-sha-${bits}.sasl.jaas.config`,
          'org.apache.kafka.common.security.scram.ScramLoginModule required;',
        ]),
      ),
    },
    formatArguments: users.flatMap(([name, password]) =>
      ['256', '512'].flatMap((bits) => [
        '--add-scram',
        `SCRAM-SHA-${bits}=[name=${name},password=${password}]`,
      ]),
    ),
  });
  return {
    kafka,
    saslBroker: kafka.listener('SASL'),
    mtlsBroker: kafka.listener('MTLS'),
    caPem: authority.caPem,
    client,
    async stop() {
      await kafka.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
