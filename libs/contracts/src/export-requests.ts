/** Requests on exports (rules export-1, export-4 and export-5). */
import { z } from 'zod';
import { exportFormats, exportKinds, formatsOf } from './export-view.js';
import { isObject, optional, uuid } from './fields.js';
import { instant } from './instant.js';
import { cursor, wholeNumber } from './party-requests.js';

const limitDefault = 20;
const limitMax = 100;

export const exportCreateSchema = z
  .object({
    kind: z.enum(exportKinds),
    format: z.enum(exportFormats),
    from: optional(instant('start')),
    to: optional(instant('end')),
    originatorId: optional(uuid),
  })
  .superRefine(
    ({ kind, format, from, to }, context) => {
      const report = (field: string, message: string, input: unknown) =>
        context.addIssue({ code: 'custom', path: [field], message, input });
      const isKnown = exportKinds.includes(kind) && exportFormats.includes(format);
      if (isKnown && !formatsOf[kind].includes(format)) report('format', 'validation_enum', format);
      if (typeof from === 'string' && typeof to === 'string' && from > to)
        report('to', 'validation_date_range', to);
    },
    { when: isObject },
  );
export type ExportCreateRequest = z.output<typeof exportCreateSchema>;

export const exportListSchema = z.object({
  cursor,
  limit: wholeNumber(1, limitMax).default(limitDefault),
});
export type ExportListQuery = z.output<typeof exportListSchema>;
