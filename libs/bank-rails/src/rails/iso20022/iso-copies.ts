/** The copies of messages in the archive: each part sealed for the party whose data it holds. */
import { ownerOf } from '@pis/keyring';
import type { TransferInstruction } from '../../bank-connection.js';
import type { ArchiveSegment } from '../../connections/file-archive.js';
import type { IsoTransferDetails } from './iso-transfers.js';

/** A pacs.008 of ours: the debtor's part is the originator's, the creditor's and the note the contact's. */
export function transferSegments(
  xml: Uint8Array,
  { originatorId, contactId, paymentId }: TransferInstruction,
): readonly ArchiveSegment[] {
  // Our messages are ASCII, and a text in them holds no `<`.
  const text = Buffer.from(xml).toString('latin1');
  const cuts = [
    text.indexOf('<Dbtr>'),
    text.indexOf('<DbtrAgt>'),
    text.indexOf('<Cdtr>'),
    text.indexOf('</CdtTrfTxInf>'),
    xml.byteLength,
  ];
  const owners = [
    null,
    ownerOf.originator(originatorId),
    null,
    ownerOf.contact(contactId),
    null,
  ] as const;
  return owners.map((owner, index) => ({
    bytes: xml.subarray(cuts[index - 1] ?? 0, cuts[index]),
    owner,
    paymentId,
  }));
}

/** A message of the bank about a transfer may repeat anything about its contact. */
export function answerSegments(
  xml: Uint8Array,
  details: IsoTransferDetails | null,
): readonly ArchiveSegment[] {
  const owner = details && ownerOf.contact(details.contactId);
  return [{ bytes: xml, owner, paymentId: details?.paymentId ?? null }];
}
