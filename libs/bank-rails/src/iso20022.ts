/** ISO 20022 messages of FedNow, RTP, Fedwire and SWIFT, and the bank connection over them. */
export * from './rails/iso20022/messages.js';
export * from './rails/iso20022/profile.js';
export * from './rails/iso20022/profiles.js';
export * from './rails/iso20022/characters.js';
export * from './rails/iso20022/identifiers.js';
export * from './rails/iso20022/xml-reader.js';
export { MessageRefused } from './rails/iso20022/xml.js';
export * from './rails/iso20022/read-messages.js';
export { isFromUs, writeIsoMessage } from './rails/iso20022/write-messages.js';
export * from './rails/iso20022/statuses.js';
export * from './rails/iso20022/rejection-reasons.js';
export * from './rails/iso20022/iso-bank.js';
export {
  amountOfIsoTransfer,
  isToIsoAccount,
  settleIsoTransfer,
} from './rails/iso20022/iso-by-hand.js';
