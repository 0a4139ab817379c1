/** The filters of the list of users, as they are in the address. */

export const roleNames = {
  viewer: 'Viewer',
  operator: 'Operator',
  approver: 'Approver',
  admin: 'Admin',
} as const;
export type Role = keyof typeof roleNames;

export const stateNames = { active: 'Active', locked: 'Locked', disabled: 'Disabled' } as const;
export type UserState = keyof typeof stateNames;

export interface UserSearch {
  readonly role?: Role;
  readonly state?: UserState;
}

/** Of an address, whatever it says. */
export function userSearchOf({ role, state }: Record<string, unknown>): UserSearch {
  return {
    ...(isKeyOf(roleNames, role) ? { role } : {}),
    ...(isKeyOf(stateNames, state) ? { state } : {}),
  };
}

function isKeyOf<Names extends object>(names: Names, key: unknown): key is keyof Names {
  return typeof key === 'string' && Object.hasOwn(names, key);
}
