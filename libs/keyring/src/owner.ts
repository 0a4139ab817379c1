/**
 * The owners that sealed texts are bound to, one per record. Sealed texts open under the same name only, so
 * the names never change.
 */
export type Owner =
  `${'contact' | 'originator' | 'user' | 'organization' | 'webhookEndpoint' | 'railArchive' | 'export'}:${string}`;

export const ownerOf = {
  /**
   * A contact's bank account, in its record and in each of its payments. With the ID of an originator: what the
   * records of banks hold of a collection from it.
   */
  contact: (contactId: string): Owner => `contact:${contactId}`,
  /** An originator's bank account, in its record and in each of its payments. */
  originator: (originatorId: string): Owner => `originator:${originatorId}`,
  /** A user's e-mail address and the secret of its one-time codes. */
  user: (userId: string): Owner => `user:${userId}`,
  /** The addresses that the API keys of an organization were used from. */
  organization: (organizationId: string): Owner => `organization:${organizationId}`,
  /** The signing secrets of a webhook endpoint. */
  webhookEndpoint: (endpointId: string): Owner => `webhookEndpoint:${endpointId}`,
  /**
   * The parts of archived bank files that speak of no party.
   * @param period the connection to the bank and the month, so that no key seals too many texts
   */
  railArchive: (period: string): Owner => `railArchive:${period}`,
  /** The parts of one archived bank file that may speak of anybody. */
  railFile: (fileId: string): Owner => `railArchive:file/${fileId}`,
  /** The file of one export. */
  exportFile: (fileId: string): Owner => `export:${fileId}`,
} as const;

/** All that the personal data of a party is sealed under: its erasure destroys their keys. */
export function ownersOfParty({
  kind,
  id,
}: {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
}): readonly Owner[] {
  return kind === 'contact' ? [ownerOf.contact(id)] : [ownerOf.originator(id), ownerOf.contact(id)];
}
