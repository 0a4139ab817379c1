/** Downloads. */
import type { OwnWrites } from '@pis/http-api';
import type { PaymentExports } from '../exports/payment-export.js';
import type { exportOperations } from '../operations/exports.js';
import type { Handlers } from '../routes.js';

export function exportHandlers({
  exports,
  ownWrites,
}: {
  readonly exports: PaymentExports;
  readonly ownWrites: OwnWrites;
}): Handlers<keyof typeof exportOperations> {
  return {
    async exportPayments({ organizationId, query, token, reply }) {
      const { limit: _limit, cursor: _cursor, idempotencyKey: _key, ...filter } = query;
      await ownWrites.visible('payments', organizationId);
      const answer = await exports.open({ organizationId, filter, token });
      reply
        .type('text/csv; charset=utf-8; header=present')
        .header('Content-Disposition', 'attachment; filename="payments.csv"')
        .header('X-Accel-Buffering', 'no');
      return answer;
    },
  };
}
