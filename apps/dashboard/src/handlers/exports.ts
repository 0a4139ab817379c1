/** Downloads. */
import type { PaymentFilter } from '@pis/contracts';
import type { OwnWrites } from '@pis/http-api';
import type { PaymentExports } from '../exports/payment-export.js';
import type { RecordedActions } from '../recorded-actions.js';
import type { exportOperations } from '../operations/exports.js';
import type { Handlers } from '../routes.js';

export function exportHandlers({
  exports,
  ownWrites,
  actions,
}: {
  readonly exports: PaymentExports;
  readonly actions: RecordedActions;
  readonly ownWrites: OwnWrites;
}): Handlers<keyof typeof exportOperations> {
  return {
    async exportPayments({ organizationId, user, query, by, token, reply }) {
      const { limit: _limit, cursor: _cursor, idempotencyKey: _key, ...filter } = query;
      await ownWrites.visible('payments', organizationId);
      const action = { name: 'exportPayments', user, subject: subjectOf(filter) } as const;
      const answer = await exports.open({ organizationId, filter, token }, (begin) =>
        actions.run(action, by, begin),
      );
      reply
        .type('text/csv; charset=utf-8; header=present')
        .header('Content-Disposition', 'attachment; filename="payments.csv"')
        .header('X-Accel-Buffering', 'no');
      return answer;
    },
  };
}

/** Which payments the file has. A label of the client's may hold anything, so the record only says that there was one. */
function subjectOf(filter: PaymentFilter): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, name === 'externalPaymentId' ? 'given' : value]];
    }),
  );
}
