/** The jars of a Kafka broker. */
import { JarsUnavailable, type JavaPrograms, javaPrograms } from './java-jars.js';

export type KafkaPrograms = JavaPrograms;

/** This machine lacks what a broker needs; tests that need one are skipped. */
export class KafkaUnavailable extends Error {
  override readonly name = 'KafkaUnavailable';
}

export async function kafkaPrograms(): Promise<KafkaPrograms> {
  try {
    return await javaPrograms({
      what: 'a Kafka broker',
      folder: 'kafka-4.4.0',
      pomOf: 'kafka',
    });
  } catch (error) {
    if (!(error instanceof JarsUnavailable)) throw error;
    throw new KafkaUnavailable(error.message, { cause: error });
  }
}
