/** ABA routing transit numbers: nine digits that name a US bank. */

/** The checksum's weights repeat 3, 7, 1 (ABA Key to Routing Numbers, "Check digit"). */
const weights = [3, 7, 1, 3, 7, 1, 3, 7, 1] as const;

/**
 * True for nine digits whose weighted sum is a multiple of ten. It says that the number was typed
 * right, not that a bank has it. Nine zeros satisfy the sum and are refused: no bank has them.
 */
export function isValidAbaRoutingNumber(text: string): boolean {
  if (!/^\d{9}$/.test(text) || text === '000000000') return false;
  const sum = weights.reduce((total, weight, index) => total + weight * Number(text[index]), 0);
  return sum % 10 === 0;
}
