import { describePlansOfQueue } from '@pis/local-servers/testing';
import {
  endSql,
  leaseSql,
  nextSql,
  noteSql,
  sealSql,
  takenSql,
  waitSql,
} from './pending-statements.js';

describePlansOfQueue('rail_pending', {
  wait: waitSql,
  note: noteSql,
  seal: sealSql,
  taken: takenSql,
  end: endSql,
  'lease of due ones': leaseSql('deadline_at'),
  'lease of overdue ones': leaseSql('overdue_at'),
  next: nextSql,
});
