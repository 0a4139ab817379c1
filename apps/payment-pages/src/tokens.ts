/** Tokens of the module's providers that have no class. */
export const OFFERED_RAILS = Symbol('OfferedRails');
export const ROUTING_DIRECTORY = Symbol('RoutingDirectory');
export const PAGE_SETTINGS = Symbol('PageSettings');

export interface PageSettings {
  readonly timeoutMs: number;
  /** The address that browsers use, if known. */
  readonly publicUrl: string | undefined;
  /** The path of that address, without the last slash; empty for none. */
  readonly pathPrefix: string;
}
