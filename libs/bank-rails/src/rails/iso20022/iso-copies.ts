/**
 * The copies of messages in the archive. A message about a transfer names its contact, its originator or both, and
 * their banks. It is sealed as a whole for both, so that erasing either loses it. What is about no transfer that we
 * know may name anybody.
 */
import type { EntityType } from '@pis/domain';
import { CannotOpen, type Owner, ownerOf } from '@pis/keyring';
import { BankAnswerUnclear } from '../../bank-connection.js';
import {
  ArchiveAltered,
  ArchiveErased,
  type ArchiveSegment,
  type FileArchive,
} from '../../connections/file-archive.js';
import type { IsoTransfer } from './iso-transfers.js';
import type { CreditTransfer, IsoAgent } from './messages.js';
import { readIsoMessage } from './read-messages.js';

/** Whose transfer a message is about. */
export interface TransferParties {
  readonly paymentId: string;
  readonly originatorId: string;
  readonly originatorEntityType: EntityType;
  readonly contactId: string;
}

/** A message about a transfer, of ours or of the bank. */
export function transferSegments(
  xml: Uint8Array,
  { paymentId, originatorId, originatorEntityType, contactId }: TransferParties,
): readonly ArchiveSegment[] {
  const owner = ownerOf.contact(contactId);
  // Businesses cannot be erased. Their second seal would cost time alone.
  const second: { secondOwner?: Owner } =
    originatorEntityType === 'INDIVIDUAL' ? { secondOwner: ownerOf.originator(originatorId) } : {};
  return [{ bytes: xml, owner, ...second, paymentId, isCompressed: true }];
}

/** A message of the bank that cannot be read, or that is about no transfer that we know. */
export function unmatchedSegments(
  xml: Uint8Array,
  paymentId: string | null = null,
): readonly ArchiveSegment[] {
  return [{ bytes: xml, owner: 'file', paymentId, isCompressed: true }];
}

/**
 * The contact's bank, to ask it about a transfer. Only the archived message has it, sealed for the contact.
 * @throws BankAnswerUnclear when the message was erased or altered
 */
export async function instructedAgentOf(
  { fileId }: IsoTransfer,
  archive: FileArchive,
): Promise<IsoAgent> {
  const message = await sentMessageOf({ fileId }, archive);
  if (message !== null) return message.instructedAgent;
  throw new BankAnswerUnclear('the archive has no message from which to ask about the transfer');
}

/** The message of a transfer as it was sent. Null when its copy is lost, or there was none. */
export async function sentMessageOf(
  { fileId }: Pick<IsoTransfer, 'fileId'>,
  archive: Pick<FileArchive, 'bytes'>,
): Promise<CreditTransfer | null> {
  const xml = fileId === null ? null : await bytesUnlessLost(archive, fileId);
  const message = xml === null ? null : readIsoMessage(xml).message;
  return message?.type === 'pacs.008' ? message : null;
}

/** Null when they were erased or altered. */
async function bytesUnlessLost(
  archive: Pick<FileArchive, 'bytes'>,
  fileId: string,
): Promise<Uint8Array | null> {
  try {
    return await archive.bytes(fileId);
  } catch (error) {
    const isLost =
      error instanceof ArchiveErased ||
      error instanceof ArchiveAltered ||
      error instanceof CannotOpen;
    if (isLost) return null;
    throw error;
  }
}
