import { describePlansOfQueue } from '@pis/local-servers/testing';
import {
  completedSql,
  endSql,
  leaseSql,
  lookSql,
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
  'end of completed ones': completedSql,
  'look at those left': lookSql,
  'lease of due ones': leaseSql('deadline_at'),
  'lease of overdue ones': leaseSql('overdue_at'),
  next: nextSql,
});
