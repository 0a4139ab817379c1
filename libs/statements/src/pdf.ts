/** `@pis/statements/pdf`: drawing PDF files, for documents that are no statements. */
export { Canvas, contentWidth, page, right, type TextStyle } from './canvas.js';
export { type Attachment, PdfFile, type Tag, type TagName } from './pdf-file.js';
