/**
 * Saved views: filters with a name. They are kept in this browser, for each organization: they are a convenience
 * of one person at one desk, and need no place on the server.
 */
import { type PaymentSearch, paymentSearchOf } from './payment-search.js';

export interface SavedView {
  readonly name: string;
  readonly search: PaymentSearch;
}

export const viewsMax = 20;
export const viewNameMax = 40;

const keyOf = (organizationId: string) => `pis.payment-views.${organizationId}`;

/** Empty if the browser keeps nothing, or something that no release wrote. */
export function readViews(
  storage: Pick<Storage, 'getItem'>,
  organizationId: string,
): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(keyOf(organizationId)) ?? '[]');
    return Array.isArray(stored) ? stored.flatMap(viewOf).slice(0, viewsMax) : [];
  } catch {
    // It may also be forbidden to look.
    return [];
  }
}

/** False if the browser refuses, for example because it keeps nothing in private windows. */
export function writeViews(
  storage: Pick<Storage, 'setItem'>,
  organizationId: string,
  views: readonly SavedView[],
): boolean {
  try {
    storage.setItem(keyOf(organizationId), JSON.stringify(views));
    return true;
  } catch {
    return false;
  }
}

/** A view of the same name is replaced. */
export function withView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  return [...views.filter(({ name }) => name !== view.name), view].slice(-viewsMax);
}

function viewOf(stored: unknown): readonly SavedView[] {
  if (typeof stored !== 'object' || stored === null) return [];
  const { name, search } = stored as { readonly name?: unknown; readonly search?: unknown };
  if (typeof name !== 'string' || name.trim() === '' || typeof search !== 'object') return [];
  return [
    {
      name: name.slice(0, viewNameMax),
      search: paymentSearchOf((search ?? {}) as Record<string, unknown>),
    },
  ];
}
