/** The sandbox's demo user, who may do everything in the demo organization. */
import { systemContext } from '@pis/event-store';
import type { Users } from '@pis/users';

export interface DemoUser {
  readonly email: string;
  readonly password: string;
}

/** The same ID on every start, so a start that was cut off is completed by the next one. */
export const demoUserId = '00000000-0000-4000-8000-00000000de10';
const demoEmail = 'demo@demo-trading.example';

/** The demo user with a random password. Null when an earlier start has made it, or there is no room: the password is shown once. */
export async function bootstrapDemoUser(
  users: Users,
  organizationId: string,
): Promise<DemoUser | null> {
  const created = await users.create(
    { organizationId, email: demoEmail, role: 'admin', userId: demoUserId },
    systemContext('bootstrap'),
  );
  if (!('refused' in created)) return { email: demoEmail, password: created.password };
  // A full organization is not asked about the address.
  if (created.refused === 'EMAIL_IN_USE' || created.refused === 'TOO_MANY_USERS') return null;
  throw new Error(`the demo user was refused: ${created.refused}`);
}
