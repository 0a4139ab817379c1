/**
 * Erasure of a person: the phases that a contact and an originator go through alike.
 *
 *   (none) ──► requested ──► confirmed ──► erased
 *     ▲            │
 *     └────────────┘ withdrawn: a payment is not final, or the retention period runs
 *
 * From the request on, the party cannot be paid or changed, and requests that began before come to their
 * end. The checks are made after that. A confirmed erasure is never withdrawn: its keys may be destroyed.
 */
import type { EntityType } from './party.js';

export type ErasurePhase = 'requested' | 'confirmed' | 'erased';

export interface ErasureRequest {
  /** Recorded for good. Operators are asked to keep it free of personal data. */
  readonly reason: string;
  /** Who asked for it. */
  readonly by: string;
  /** Whether it is to happen although the retention period still runs. */
  readonly overridesRetention: boolean;
}

export const erasureObstacles = ['PAYMENTS_NOT_FINAL', 'RETENTION_RUNNING'] as const;
/** `INTERRUPTED`: the checks could not be made. */
export type WithdrawalCause = (typeof erasureObstacles)[number] | 'INTERRUPTED';

/** What is left to say of somebody who was erased. The id is in the name of the stream. */
export interface ErasedRecord {
  readonly organizationId: string;
  readonly entityType: EntityType;
}

/** Every field that tells who somebody is, empty. */
export const erasedFields = {
  firstName: null,
  lastName: null,
  companyName: null,
  email: null,
  phoneNumber: null,
  legalAddress: null,
  bankAccount: null,
} as const;

export type ErasureRefusal =
  /** It was confirmed, or completed. */
  'ERASURE_CONFIRMED' | 'ERASURE_NOT_REQUESTED' | 'ERASURE_NOT_CONFIRMED';

/** What a command about an erasure leads to: the step is to be recorded, nothing is, or it is refused. */
export type ErasureStep = 'record' | 'nothing' | ErasureRefusal;

/** The request that is under way stays, unless the new one says something else. */
export function requestStep(
  phase: ErasurePhase | null,
  under: ErasureRequest | null,
  wanted: ErasureRequest,
): ErasureStep {
  if (phase === null) return 'record';
  if (phase !== 'requested' || under === null) return 'nothing';
  const isSame =
    under.reason === wanted.reason &&
    under.by === wanted.by &&
    under.overridesRetention === wanted.overridesRetention;
  return isSame ? 'nothing' : 'record';
}

export function withdrawalStep(phase: ErasurePhase | null): ErasureStep {
  if (phase === null) return 'nothing';
  return phase === 'requested' ? 'record' : 'ERASURE_CONFIRMED';
}

export function confirmationStep(phase: ErasurePhase | null): ErasureStep {
  if (phase === null) return 'ERASURE_NOT_REQUESTED';
  return phase === 'requested' ? 'record' : 'nothing';
}

export function completionStep(phase: ErasurePhase | null): ErasureStep {
  if (phase === 'erased') return 'nothing';
  return phase === 'confirmed' ? 'record' : 'ERASURE_NOT_CONFIRMED';
}
