/** `@pis/audit/evidence`: reports as PDF with proofs. Loads what draws PDFs: import it on use. */
export * from './life/report-pdf.js';
