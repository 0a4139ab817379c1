/** The period of the overview, in the address. */
export const periods = [7, 30, 90] as const;
export type Period = (typeof periods)[number];

export interface OverviewSearch {
  /** 30 without it. */
  readonly days?: Period;
}

/** Of an address, whatever it says. */
export function overviewSearchOf({ days }: Record<string, unknown>): OverviewSearch {
  const found = periods.find((period) => period === days);
  return found === undefined || found === 30 ? {} : { days: found };
}
