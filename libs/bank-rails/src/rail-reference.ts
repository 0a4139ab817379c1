/**
 * The reference under which the bank knows a payment: the payment's UUID in base 62, always 22
 * letters and digits, which fits a NACHA identification number and an ISO 20022 EndToEndId. It is
 * derived, so that a second submission after a crash carries the same one and is recognized; and it
 * can be turned back, so that no table has to remember it.
 */
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base = 62n;
const referenceLength = 22;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const uuidLimit = 1n << 128n;

/** @throws RangeError when the id is not a UUID */
export function railReferenceOf(paymentId: string): string {
  if (!uuidPattern.test(paymentId)) throw new RangeError('a rail reference needs a UUID');
  let rest = BigInt(`0x${paymentId.replaceAll('-', '')}`);
  let reference = '';
  while (rest > 0n) {
    reference = digits.charAt(Number(rest % base)) + reference;
    rest /= base;
  }
  return reference.padStart(referenceLength, '0');
}

/** The payment of a reference, or null when it is none of ours. */
export function paymentIdOfRailReference(reference: string): string | null {
  if (!/^[0-9A-Za-z]{22}$/.test(reference)) return null;
  let value = 0n;
  for (const digit of reference) value = value * base + BigInt(digits.indexOf(digit));
  if (value >= uuidLimit) return null;
  const hex = value.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
