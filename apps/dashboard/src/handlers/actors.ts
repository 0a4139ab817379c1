/** Who did something: the users among the actors of events, by their e-mail addresses. */
import type { Users } from '@pis/users';

const prefix = 'user:';

export function userActor(userId: string): string {
  return `${prefix}${userId}`;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Of one payment. */
const actorsMax = 100;

/** Returns the address of an actor; null for one that is no user of the organization. */
export async function emailsOfActors(
  users: Users,
  organizationId: string,
  actors: readonly (string | null)[],
): Promise<(actor: string | null) => string | null> {
  // Operators are users of their machines: their actors have no UUID.
  const ids = new Set(
    actors.flatMap((actor) => {
      const id = actor?.startsWith(prefix) === true ? actor.slice(prefix.length) : '';
      return uuidForm.test(id) ? [id] : [];
    }),
  );
  const emails = await users.emailsOf(organizationId, [...ids].slice(0, actorsMax));
  return (actor) => emails.get(actor?.slice(prefix.length) ?? '') ?? null;
}
