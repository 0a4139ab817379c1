/** Which role a screen takes. The routes in router.tsx say it; the server decides by itself. */
import type { Me } from '@pis/dashboard/api';

export type Role = Me['role'];

/** Each may do what those before it may. */
const roles = ['viewer', 'operator', 'approver', 'admin'] as const satisfies readonly Role[];

/** @param least the role that a screen takes; undefined for everybody */
export function maySee(role: Role, least: Role | undefined): boolean {
  return least === undefined || roles.indexOf(role) >= roles.indexOf(least);
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The least role that sees the screen. */
    readonly role?: Role;
  }
}
