/**
 * How many attempts may be in flight: in all, and to one endpoint, so that one that hangs takes its
 * own slots and nobody else's.
 */
export class Slots {
  private readonly taken = new Map<string, number>();
  private takenInAll = 0;

  constructor(
    private readonly limits: { readonly inAllMax: number; readonly perEndpointMax: number },
  ) {}

  get inFlight(): number {
    return this.takenInAll;
  }

  /** Negative when more were taken than is meant to be. */
  get free(): number {
    return this.limits.inAllMax - this.takenInAll;
  }

  freeOf(endpointId: string): number {
    return this.limits.perEndpointMax - (this.taken.get(endpointId) ?? 0);
  }

  tryTake(endpointId: string): boolean {
    if (this.free <= 0 || this.freeOf(endpointId) <= 0) return false;
    this.take(endpointId);
    return true;
  }

  /** Also beyond the limits: for what was claimed while others took. */
  take(endpointId: string): void {
    this.takenInAll += 1;
    this.taken.set(endpointId, (this.taken.get(endpointId) ?? 0) + 1);
  }

  give(endpointId: string): void {
    const left = (this.taken.get(endpointId) ?? 0) - 1;
    this.takenInAll -= 1;
    if (left > 0) this.taken.set(endpointId, left);
    else this.taken.delete(endpointId);
  }

  /** What is free of each endpoint that has attempts in flight, never below 0. */
  room(): Map<string, number> {
    return new Map([...this.taken.keys()].map((id) => [id, Math.max(0, this.freeOf(id))] as const));
  }
}
