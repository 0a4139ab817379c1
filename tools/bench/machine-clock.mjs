/** Milliseconds, with fractions, of the clock that all processes of this machine share and nobody sets. */
export const machineMs = () => Number(process.hrtime.bigint()) / 1e6;
