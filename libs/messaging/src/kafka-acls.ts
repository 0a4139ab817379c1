import { abortableDelay } from './delay.js';
import { kafkaClient, type KafkaAcl, type KafkaAdmin, type KafkaSettings } from './kafka-client.js';

export interface AclReport extends KafkaAcl {
  /** `undeclared`: it is on the broker, for one of the declared principals, topics or groups. It is left there. */
  readonly outcome: 'created' | 'missing' | 'unchanged' | 'undeclared';
}

/**
 * Creates the ACLs that are missing, with `dryRun` only says which. Never deletes one. Knows ACLs that allow
 * something on one named topic or group from every host; others (DENY, patterns, hosts) it neither makes nor reports.
 * @throws KafkaFailure, of type SECURITY_DISABLED when the brokers check no ACLs
 */
export async function applyAcls(
  settings: KafkaSettings,
  declared: readonly KafkaAcl[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly AclReport[]> {
  const admin = (await kafkaClient(settings)).admin();
  try {
    const existing = await admin.acls();
    const known = new Set(existing.map(keyOf));
    const missing = declared.filter((acl) => !known.has(keyOf(acl)));
    if (!dryRun && missing.length > 0) await create(admin, missing);
    const expected = new Set(declared.map(keyOf));
    const ours = new Set(declared.flatMap((acl) => [acl.principal, placeOf(acl)]));
    const undeclared = existing.filter(
      (acl) => !expected.has(keyOf(acl)) && (ours.has(acl.principal) || ours.has(placeOf(acl))),
    );
    const lacking = dryRun ? 'missing' : 'created';
    return [
      ...declared.map((acl) => ({
        ...acl,
        outcome: known.has(keyOf(acl))
          ? ('unchanged' as const)
          : (lacking as 'missing' | 'created'),
      })),
      ...undeclared.map((acl) => ({ ...acl, outcome: 'undeclared' as const })),
    ];
  } finally {
    await admin.close();
  }
}

/** A broker learns of new ACLs a moment after they are made. @throws when they are not there in time */
async function create(admin: KafkaAdmin, acls: readonly KafkaAcl[]): Promise<void> {
  await admin.createAcls(acls);
  const deadlineMs = performance.now() + knownWithinMs;
  for (;;) {
    const known = new Set((await admin.acls()).map(keyOf));
    if (acls.every((acl) => known.has(keyOf(acl)))) return;
    if (performance.now() > deadlineMs)
      throw new Error(`the brokers do not know the new ACLs after ${knownWithinMs} ms`);
    await abortableDelay(pollMs, new AbortController().signal);
  }
}

const knownWithinMs = 30_000;
const pollMs = 100;

function keyOf(acl: KafkaAcl): string {
  return `${acl.principal} ${acl.operation} ${placeOf(acl)}`;
}

function placeOf({ resource, name }: KafkaAcl): string {
  return `${resource} ${name}`;
}
