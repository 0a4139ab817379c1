/** XML of ISO 20022 messages, without the messages. */
export * from './rails/iso20022/xml.js';
export * from './rails/iso20022/xml-reader.js';
export { MessagePart } from './rails/iso20022/read-parts.js';
