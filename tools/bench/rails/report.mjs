/** The figures of the rails, with the goal beside them. */
import { median } from '../statistics.mjs';

const goals = { peakRssMb: 300 };

export function reportRails({ bank, files, large }) {
  const per = (field) => median(files.map((round) => round[field]));
  const count = files[0].entries;
  const { written, read } = large;
  const rows = [
    ['ACH', '', 'goal'],
    [`${n(bank.payments)} payments on PostgreSQL, in ${n(bank.files)} file`, '', ''],
    ['  submitted, each durable', ms(bank.submitMs), ''],
    ['  file built, archived and sent', ms(bank.sendMs), ''],
    ['  acknowledgement read', ms(bank.acceptMs), ''],
    ['  return file read', ms(bank.returnMs), ''],
    ['  all notifications read', ms(bank.feedMs), ''],
    [`${n(count)} entries in memory, into one file`, ms(per('writeMs')), ''],
    ['  read by the bank', ms(per('parseMs')), ''],
    ['  into a return file', ms(per('writeReturnsMs')), ''],
    ['  read and matched', ms(per('parseReturnsMs')), ''],
    ['  event loop blocked, longest', ms(per('blockedMaxMs')), ''],
    [`${n(written.entries)} entries (${written.fileMb.toFixed(1)} MB)`, '', ''],
    ['  written', ms(written.writeMs), ''],
    ['    peak memory', mb(written.peakRssMb), `≤ ${mb(goals.peakRssMb)}`],
    ['    event loop blocked, longest', ms(written.blockedMaxMs), ''],
    ['  read', ms(read.parseMs), ''],
    ['    peak memory', mb(read.peakRssMb), `≤ ${mb(goals.peakRssMb)}`],
    ['    event loop blocked, longest', ms(read.blockedMaxMs), ''],
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  for (const [label, value, goal] of rows)
    console.log(`${label.padEnd(width)}  ${value.padStart(10)}  ${goal}`);
  console.log('');
}

function n(value) {
  return Math.round(value).toLocaleString('en-US');
}

function ms(value) {
  return `${value < 10 ? value.toFixed(1) : n(value)} ms`;
}

function mb(value) {
  return `${n(value)} MB`;
}
