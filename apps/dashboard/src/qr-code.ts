/** QR codes as SVG. */

/** The package is loaded when the first code is asked for. */
export async function qrCodeOf(text: string): Promise<string> {
  const { toString } = await import('qrcode');
  return toString(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 });
}
